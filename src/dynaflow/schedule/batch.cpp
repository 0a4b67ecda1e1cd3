#include "dynaflow/schedule/batch.h"

#include <cstdlib>
#include <utility>

namespace dynaflow {

Split Batch::whole() const { return {{rows}, Split::Path::kUnscheduled}; }

Split Batch::even(int parts) const {
  Split split;
  for (int i = 0; i < parts; ++i) split.sizes.push_back(rows / parts + (i < rows % parts ? 1 : 0));
  return split;
}

Split Batch::by_sizes(std::vector<std::int64_t> sizes) const { return {std::move(sizes)}; }

Split Batch::at_requests(int parts) const {
  if (requests.empty()) return even(parts);
  Split split;
  std::size_t next = 0;
  std::int64_t taken = 0;
  for (int i = 1; i <= parts; ++i) {
    const std::int64_t goal = rows * i / parts;
    const std::int64_t before = taken;
    while (next < requests.size() &&
           std::llabs(taken + requests[next] - goal) <= std::llabs(taken - goal)) {
      taken += requests[next++];
    }
    split.sizes.push_back(taken - before);
  }
  if (!split.sizes.empty()) split.sizes.back() += rows - taken;
  return split;
}

std::string to_string(const Split& split) {
  std::string text;
  for (const std::int64_t size : split.sizes) {
    text += (text.empty() ? "" : "+") + std::to_string(size);
  }
  return text.empty() ? "nothing" : text;
}

}  // namespace dynaflow
