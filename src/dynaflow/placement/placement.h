#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "dynaflow/placement/buffers.h"
#include "dynaflow/schedule/batch.h"

namespace dynaflow {

/// What a step's operand is in memory: `rows` rows from `offset`, one after the other; the same in
/// each of the storage's blocks.
struct PlacedView {
  std::int64_t offset = 0;  ///< bytes from the start of its buffer
  std::int64_t rows = 0;
  std::int64_t block_stride = 0;  ///< bytes from one block to the next; zero where there is one
};

/// How large a storage is for the symbols of a batch.
struct StorageSize {
  std::int64_t row_bytes = 0;
  std::int64_t blocks = 1;

  /// From one row to the next: what a block has of a row.
  [[nodiscard]] std::int64_t row_stride() const { return blocks == 0 ? 0 : row_bytes / blocks; }
};

/// Where everything is, for one split and the values of the graph's symbols: the size-dependent
/// half of memory.
struct Placement {
  static constexpr std::int64_t kAlignment = 64;

  std::vector<std::int64_t> symbols;     ///< the values it is for
  std::vector<StorageSize> storages;     ///< per storage of the graph
  std::vector<std::int64_t> row_starts;  ///< per micro-batch its first row; then the batch's rows
  std::vector<std::int64_t> sizes;       ///< per buffer, in bytes
  std::vector<std::int64_t> offsets;     ///< per buffer: in the arena, or 0 in the caller's memory
  std::vector<PlacedView> views;         ///< parallel to Plan::step_operands
  /// Per step with a body: the first step with the same body and equal views.
  std::vector<std::uint32_t> alike;
  std::int64_t arena_bytes = 0;

  [[nodiscard]] RowRange rows(MicrobatchRange mbs) const {
    return {row_starts[mbs.first], row_starts[mbs.last] - row_starts[mbs.first]};
  }
};

/// Packs the arena for these sizes: largest first, each as low as its conflicts allow; or, where
/// the conflicts are too many to list, in order of first use. R6 where the symbols are not the
/// graph's or give a size that cannot be; R1 where a body cannot say how much scratch it needs; R7
/// where there are more bytes than can be counted.
[[nodiscard]] Result<Placement> make_placement(const Graph& graph, const Plan& plan,
                                               const Buffers& buffers, const Split& split,
                                               std::span<const std::int64_t> symbols = {});

/// The same into an existing Placement, reusing its memory; undefined after an error.
[[nodiscard]] Result<void> make_placement(const Graph& graph, const Plan& plan,
                                          const Buffers& buffers, const Split& split,
                                          std::span<const std::int64_t> symbols,
                                          Placement& placement);

/// What a body sees of a step's operand (an index into Plan::step_operands), but for the address.
/// Of an unplaced value nothing but its type is known.
[[nodiscard]] View layout(const Graph& graph, const Plan& plan, const Placement& placement,
                          std::size_t operand);

/// The largest sum of bytes that must be in the arena at one step: no packing can do with less.
[[nodiscard]] std::int64_t must_be_live(const Graph& graph, const Plan& plan,
                                        const Buffers& buffers, const Placement& placement,
                                        const HappensBefore& hb);

/// A line per buffer: storage, micro-batches, bytes, offset.
[[nodiscard]] std::string to_string(const Placement& placement, const Buffers& buffers,
                                    const Graph& graph);

}  // namespace dynaflow
