#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "dynaflow/plan/happens_before.h"
#include "dynaflow/plan/plan.h"

namespace dynaflow {

/// Memory for one storage over some adjacent micro-batches. A storage has one buffer for all
/// micro-batches that any step sees together, so that merged and single steps meet in the same
/// bytes: a split is a slice, a merge costs nothing.
///
/// Or the scratch of one step: then `storage` is invalid and nobody else touches it.
struct Buffer {
  StorageId storage;
  MicrobatchRange microbatches;
  StepId scratch_of = {};

  [[nodiscard]] bool is_scratch() const { return scratch_of.valid(); }
};

/// Which buffers a plan needs and which of them may share bytes: everything about memory that does
/// not depend on sizes. Made once per plan.
struct Buffers {
  std::vector<Buffer> items;
  std::vector<BufferId> of_operand;  ///< parallel to Plan::step_operands
  std::vector<BufferId> scratch;     ///< per step: for its body, if it has one
  std::vector<BufferId> arena;       ///< the buffers that live in the arena, by first use

  /// For each arena buffer (by its place in `arena`), the others whose lifetimes are not proven
  /// apart: they must not share a byte. Empty where `retired` is used instead.
  std::vector<std::uint32_t> conflict_starts;
  std::vector<std::uint32_t> conflicts;

  /// For plans with so many unordered steps that the pairs would be too many: for each arena buffer
  /// the first later one that may take its bytes, since from then on no step can touch it.
  std::vector<std::uint32_t> retired = {};

  [[nodiscard]] std::span<const std::uint32_t> conflicts_of(std::size_t arena_index) const {
    return std::span(conflicts).subspan(
        conflict_starts[arena_index],
        conflict_starts[arena_index + 1] - conflict_starts[arena_index]);
  }
};

/// Whether a buffer's bytes are ours to place.
[[nodiscard]] bool in_arena(const Graph& graph, const Buffer& buffer);

/// Two buffers may share when every step that touches one happens before every step that touches
/// the other. Where almost nothing is ordered, only what is over for all lanes is shared.
[[nodiscard]] Buffers make_buffers(const Graph& graph, const Plan& plan, const HappensBefore& hb);

}  // namespace dynaflow
