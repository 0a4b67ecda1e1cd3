#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "dynaflow/base/id.h"

namespace dynaflow {

/// How many rows each micro-batch has: adjacent, in order, covering the batch. May be zero.
struct Split {
  enum class Path : std::uint8_t {
    kScheduled,
    kUnscheduled,  ///< one piece, no schedule wanted: where there is a compiled whole, that runs
  };

  std::vector<std::int64_t> sizes;
  Path path = Path::kScheduled;

  [[nodiscard]] std::uint32_t count() const { return static_cast<std::uint32_t>(sizes.size()); }
  friend auto operator<=>(const Split&, const Split&) = default;
};

/// What a strategy may know of this step when it decides how to split: plain integers only, so
/// that equal batches are split equally, on every rank.
struct Batch {
  std::int64_t rows = 0;
  std::vector<std::int64_t> requests = {};         ///< rows of each request, in order; may be empty
  std::map<std::string, std::int64_t> facts = {};  ///< anything else the caller wants decided upon
  std::vector<std::int64_t> symbols = {};          ///< a value for each of Graph::symbols()

  /// One micro-batch, as plain as can be: Split::Path::kUnscheduled.
  [[nodiscard]] Split whole() const;
  /// `parts` micro-batches whose sizes differ by one row at most, the larger ones first.
  [[nodiscard]] Split even(int parts) const;
  [[nodiscard]] Split by_sizes(std::vector<std::int64_t> sizes) const;
  /// `parts` micro-batches that never cut a request in two, each border as near to even as may be.
  /// Without requests, the same as `even`.
  [[nodiscard]] Split at_requests(int parts) const;

  friend auto operator<=>(const Batch&, const Batch&) = default;
};

[[nodiscard]] std::string to_string(const Split& split);

}  // namespace dynaflow
