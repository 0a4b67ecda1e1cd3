#include "import/capture/nearest.h"

#include <algorithm>
#include <numeric>
#include <string_view>
#include <utility>
#include <vector>

namespace dynaflow::capture {
namespace {

constexpr std::size_t kShown = 3;

/// Letters to add, remove or replace.
std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), 0U);
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = std::exchange(row[0], i);
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replaced = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, replaced});
    }
  }
  return row.back();
}

}  // namespace

std::string nearest(const std::string& name, const std::set<std::string>& names) {
  std::vector<std::pair<std::size_t, std::string>> ranked;
  for (const std::string& other : names) {
    if (!other.empty()) ranked.emplace_back(distance(name, other), other);
  }
  std::ranges::sort(ranked);
  if (ranked.size() > kShown) ranked.resize(kShown);
  std::string text;
  for (const auto& [far, other] : ranked) text += (text.empty() ? "; near: " : ", ") + other;
  return text;
}

}  // namespace dynaflow::capture
