#include "dynaflow/strategies/race.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "dynaflow/base/check.h"

namespace dynaflow {
namespace {

/// How likely it is that a runner that is as fast as another one is called slower.
constexpr double kMistaken = 0.05;

/// The chance that of `rounds` fair coins at least `heads` show heads.
double chance_of(std::size_t heads, std::size_t rounds) {
  double exactly = 1;  // the chance of none at all, times 2^rounds
  double below = 0;
  for (std::size_t i = 0; i < heads; ++i) {
    below += exactly;
    exactly *= static_cast<double>(rounds - i) / static_cast<double>(i + 1);
  }
  double all = 1;
  for (std::size_t i = 0; i < rounds; ++i) all *= 2;
  return 1 - below / all;
}

template <class T>
T median(std::vector<T> values) {
  if (values.empty()) return {};
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::ranges::nth_element(values, middle);
  return *middle;
}

}  // namespace

Race::Race(std::size_t runners) : taken_(runners), left_(runners) {
  DYNAFLOW_CHECK(runners > 0);
  std::iota(left_.begin(), left_.end(), std::size_t{0});
}

void Race::add(std::span<const std::int64_t> taken_ns) {
  DYNAFLOW_CHECK(taken_ns.size() == left_.size());
  for (std::size_t i = 0; i < left_.size(); ++i) {
    taken_[left_[i]].push_back(std::max<std::int64_t>(taken_ns[i], 1));
  }
  ++rounds_;
  const std::size_t first = leader();
  std::erase_if(left_, [&](std::size_t each) { return is_surely_slower(each, first); });
}

std::size_t Race::leader() const {
  return *std::ranges::min_element(left_, {},
                                   [&](std::size_t each) { return median(taken_[each]); });
}

std::int64_t Race::taken_ns(std::size_t runner) const {
  const auto& own = taken_.at(runner);
  if (own.empty()) return 0;
  const auto& first = taken_[leader()];
  std::vector<double> beside;
  beside.reserve(own.size());
  for (std::size_t i = 0; i < own.size(); ++i) {
    beside.push_back(static_cast<double>(own[i]) / static_cast<double>(first[i]));
  }
  return std::llround(static_cast<double>(median(first)) * median(beside));
}

/// By the sign test: so many rounds in which it was slower are no chance.
bool Race::is_surely_slower(std::size_t runner, std::size_t than) const {
  const auto& own = taken_[runner];
  const auto& other = taken_[than];
  std::size_t slower = 0;
  for (std::size_t i = 0; i < own.size(); ++i) slower += own[i] > other[i] ? 1 : 0;
  return chance_of(slower, own.size()) <= kMistaken;
}

}  // namespace dynaflow
