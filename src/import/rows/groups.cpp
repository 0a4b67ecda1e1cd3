#include "import/rows/groups.h"

#include <map>
#include <numeric>
#include <optional>

namespace dynaflow::rows {

using capture::TensorId;

namespace {

/// Disjoint sets of calls, each named by its first.
class Sets {
 public:
  explicit Sets(std::size_t count) : parent_(count) {
    std::iota(parent_.begin(), parent_.end(), 0U);
  }
  std::uint32_t find(std::uint32_t call) {
    while (parent_[call] != call) call = parent_[call] = parent_[parent_[call]];
    return call;
  }
  void join(std::uint32_t a, std::uint32_t b) {
    a = find(a);
    b = find(b);
    parent_[std::max(a, b)] = std::min(a, b);
  }

 private:
  std::vector<std::uint32_t> parent_;
};

}  // namespace

void group_calls(Rows& rows) {
  const auto& calls = rows.capture.calls;
  Sets sets(calls.size());
  std::vector<bool> local(calls.size());
  std::map<std::uint32_t, std::uint32_t> first;  // local tensor -> a call that touches it
  for (std::uint32_t i = 0; i < calls.size(); ++i) {
    const auto touch = [&](TensorId tensor) {
      if (!tensor.valid() || rows.tensors[tensor.index].kind != Carry::Kind::kLocal) return;
      local[i] = true;
      sets.join(i, first.emplace(tensor.index, i).first->second);
    };
    for (const TensorId output : calls[i].outputs) touch(output);
    capture::for_each_input(calls[i], touch);
  }
  std::map<std::uint32_t, std::uint32_t> groups;
  for (std::uint32_t i = 0; i < calls.size(); ++i) {
    if (!local[i]) continue;
    const auto next = static_cast<std::uint32_t>(groups.size());
    rows.calls[i].group = groups.emplace(sets.find(i), next).first->second;
  }
}

}  // namespace dynaflow::rows
