#include "support/rounds.h"

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "support/stopwatch.h"

namespace dynaflow::bench {
namespace {

constexpr std::size_t kRoundsWanted = 15;
constexpr std::size_t kRoundsAtMost = 90;
constexpr double kDisturbed = 0.05;

using Values = std::vector<std::vector<double>>;

Rounds drop_disturbed(const Values& all) {
  std::vector<double> baselines;
  for (const auto& round : all) baselines.push_back(round[Rounds::kBaseline]);
  const double median = spread_of(baselines).median;
  Rounds rounds;
  for (const auto& round : all) {
    if (std::abs(round[Rounds::kBaseline] / median - 1) <= kDisturbed) {
      rounds.kept.push_back(round);
    } else {
      ++rounds.dropped;
    }
  }
  return rounds;
}

/// Linear between the two nearest ranks; `sorted` is not empty.
double quantile(const std::vector<double>& sorted, double share) {
  const double at = share * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(at);
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  return std::lerp(sorted[below], sorted[above], at - std::floor(at));
}

}  // namespace

Spread spread_of(std::vector<double> samples) {
  if (samples.empty()) return {};
  std::ranges::sort(samples);
  return {quantile(samples, 0.25), quantile(samples, 0.5), quantile(samples, 0.75)};
}

Spread Rounds::spread(
    const std::function<double(const std::vector<double>& round)>& quantity) const {
  std::vector<double> samples;
  for (const auto& round : kept) samples.push_back(quantity(round));
  return spread_of(std::move(samples));
}

Rounds measure_rounds(const std::function<std::vector<double>()>& round) {
  static_cast<void>(round());
  Values all;
  Rounds rounds;
  while (rounds.kept.size() < kRoundsWanted && all.size() < kRoundsAtMost) {
    all.push_back(round());
    rounds = drop_disturbed(all);
  }
  return rounds;
}

double measure_yardstick() {
  std::vector<std::uint32_t> numbers(200'000);
  std::uint32_t next = 1;
  for (std::uint32_t& number : numbers) number = next = next * 1664525 + 1013904223;
  return seconds_of([&] { std::ranges::sort(numbers); });
}

}  // namespace dynaflow::bench
