#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "dynaflow/placement/buffers.h"
#include "dynaflow/schedule/batch.h"

namespace dynaflow {

/// What a step's operand is in memory: `rows` rows from `offset`, a storage's row_bytes apart.
struct PlacedView {
  std::int64_t offset = 0;  ///< bytes from the start of its buffer
  std::int64_t rows = 0;
};

/// Where everything is, for one split: the size-dependent half of memory.
struct Placement {
  static constexpr std::int64_t kAlignment = 64;

  std::vector<std::int64_t> row_starts;  ///< per micro-batch its first row; then the batch's rows
  std::vector<std::int64_t> sizes;       ///< per buffer, in bytes
  std::vector<std::int64_t> offsets;     ///< per buffer: in the arena, or 0 in the caller's memory
  std::vector<PlacedView> views;         ///< parallel to Plan::step_operands
  std::int64_t arena_bytes = 0;

  [[nodiscard]] RowRange rows(MicrobatchRange mbs) const {
    return {row_starts[mbs.first], row_starts[mbs.last] - row_starts[mbs.first]};
  }
};

/// Packs the arena for these sizes: largest first, each as low as its conflicts allow; or, where
/// the conflicts are too many to list, in order of first use.
[[nodiscard]] Placement make_placement(const Graph& graph, const Plan& plan, const Buffers& buffers,
                                       const Split& split);

/// The same into an existing Placement, reusing its memory.
void make_placement(const Graph& graph, const Plan& plan, const Buffers& buffers,
                    const Split& split, Placement& placement);

/// The largest sum of bytes that must be in the arena at one step: no packing can do with less.
[[nodiscard]] std::int64_t must_be_live(const Graph& graph, const Plan& plan,
                                        const Buffers& buffers, const Placement& placement,
                                        const HappensBefore& hb);

/// A line per buffer: storage, micro-batches, bytes, offset.
[[nodiscard]] std::string to_string(const Placement& placement, const Buffers& buffers,
                                    const Graph& graph);

}  // namespace dynaflow
