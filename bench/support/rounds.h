#pragma once

#include <functional>
#include <vector>

namespace dynaflow::bench {

/// Median and quartiles of some measurements.
struct Spread {
  double low = 0;
  double median = 0;
  double high = 0;
};

[[nodiscard]] Spread spread_of(std::vector<double> samples);

/// Interleaved measurements: each round measures every arm once, the baseline first. A round whose
/// baseline is off the baselines' median by more than 5 % was disturbed, and is dropped.
struct Rounds {
  static constexpr std::size_t kBaseline = 0;

  std::vector<std::vector<double>> kept;  ///< per round, the values of its arms
  int dropped = 0;

  /// Of a quantity computed from one round's values, so that what was measured together is
  /// compared with each other.
  [[nodiscard]] Spread spread(
      const std::function<double(const std::vector<double>& round)>& quantity) const;
};

/// Repeats `round`, after one that only warms up, until enough rounds are undisturbed. A machine
/// that is never quiet ends it too: then fewer are kept, and the report says how many.
[[nodiscard]] Rounds measure_rounds(const std::function<std::vector<double>()>& round);

/// A fixed piece of work, in seconds: the baseline where no arm is one.
[[nodiscard]] double measure_yardstick();

}  // namespace dynaflow::bench
