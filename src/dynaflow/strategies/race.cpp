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

/// The median of the means of all pairs (Hodges and Lehmann): no outlier moves it much, and it
/// needs hardly more rounds than a mean. A plain median would need half as many again.
double typical(std::span<const double> values) {
  if (values.empty()) return 0;
  std::vector<double> means;
  means.reserve(values.size() * (values.size() + 1) / 2);
  for (std::size_t i = 0; i < values.size(); ++i) {
    for (std::size_t j = i; j < values.size(); ++j) means.push_back((values[i] + values[j]) / 2);
  }
  const auto middle = means.begin() + static_cast<std::ptrdiff_t>(means.size() / 2);
  std::ranges::nth_element(means, middle);
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
  return *std::ranges::min_element(left_, {}, [&](std::size_t each) { return taken_ns(each); });
}

std::int64_t Race::taken_ns(std::size_t runner) const {
  const std::vector<double> rounds = left_in_rounds();
  const auto& own = taken_.at(runner);
  std::vector<double> shares;
  shares.reserve(own.size());
  for (std::size_t i = 0; i < own.size(); ++i) {
    shares.push_back(static_cast<double>(own[i]) / rounds[i]);
  }
  return std::llround(typical(rounds) * typical(shares));
}

std::vector<double> Race::left_in_rounds() const {
  std::vector<double> rounds(rounds_, 0.0);
  for (const std::size_t each : left_) {
    for (std::size_t i = 0; i < rounds_; ++i) rounds[i] += static_cast<double>(taken_[each][i]);
  }
  return rounds;
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
