#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "dynaflow/base/result.h"
#include "dynaflow/strategies/race.h"

namespace dynaflow {

/// What a model costs on one machine, measured on batches of several sizes.
struct MeasuredCosts {
  /// One batch of `rows` rows.
  struct Point {
    std::int64_t rows = 0;
    std::int64_t compute_ns = 0;      ///< all steps that compute, one after the other
    std::int64_t network_ns = 0;      ///< all transfers, one after the other
    std::int64_t network_cpu_ns = 0;  ///< of the transfers, what the processor is busy with
    std::int64_t whole_ns = 0;        ///< the whole batch, unsplit and unscheduled

    friend bool operator==(const Point&, const Point&) = default;
  };

  std::string machine;         ///< where it was measured
  std::int64_t transfers = 1;  ///< of one batch, one after the other
  std::vector<Point> points;   ///< by rows, rising; at least one
  /// For 1, 2, 3, … micro-batches, how much longer measured runs took than `overlapped_ns` says:
  /// transfers and compute on the same cores slow each other down. More than these are like the
  /// last; without any, nothing is lost.
  std::vector<double> slowdowns;

  /// The same once the largest size has run: whole as runner 0 of the race, in n micro-batches as
  /// runner n.
  [[nodiscard]] MeasuredCosts after(const Race& race) const;

  /// Between the measured sizes in proportion; beyond them, the last or the first per row.
  [[nodiscard]] Point at(std::int64_t rows) const;
  /// How long `parts` equal micro-batches take at least if every transfer runs beside the others'
  /// compute: nothing can be hidden before the first compute and after the last transfer, and
  /// nothing at all where there is only one.
  [[nodiscard]] std::int64_t overlapped_ns(std::int64_t rows, int parts) const;
  /// The same with what such runs lose by experience.
  [[nodiscard]] std::int64_t expected_ns(std::int64_t rows, int parts) const;
  /// How many micro-batches are fastest; none where they gain too little over the batch as it is,
  /// whole and unscheduled.
  [[nodiscard]] std::optional<int> best_parts(std::int64_t rows, int most) const;

  friend bool operator==(const MeasuredCosts&, const MeasuredCosts&) = default;
};

/// Saved as JSON; R8 for a document that holds no costs.
[[nodiscard]] std::string to_json(const MeasuredCosts& costs);
[[nodiscard]] Result<MeasuredCosts> costs_from_json(std::string_view document);

}  // namespace dynaflow
