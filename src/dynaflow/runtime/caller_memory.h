#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "dynaflow/placement/placed_plan.h"
#include "dynaflow/runtime/binding.h"

namespace dynaflow {

/// The memory that the caller lends a run for inputs and outputs: checks the bindings of each run,
/// and knows which views to move when one is bound elsewhere than last time.
class CallerMemory {
 public:
  explicit CallerMemory(const PlacedPlan& plan);

  /// Forgets where everything was; from now on bindings must have the sizes of this placement.
  void resize(const Placement& placement);

  /// Points the views of the bindings' values to their memory: view i at `positions[i]` in it. R6,
  /// and no view is moved, if the bindings do not name every input and output once, with memory of
  /// the right size that does not overlap what is written. Costs little for bindings that have not
  /// moved.
  [[nodiscard]] Result<void> bind(std::span<const Binding> bindings, std::span<View> views,
                                  std::span<const std::int64_t> positions);

 private:
  /// One storage that the caller binds.
  struct Slot {
    ValueId value;  ///< the graph's input or output; invalid for storages that are not bound
    std::int64_t bytes = 0;
    std::vector<std::uint32_t> views;
    Binding last;             ///< of the last run in these sizes, if there was one
    std::uint64_t check = 0;  ///< the last check that saw it bound
  };

  [[nodiscard]] Result<void> check(std::span<const Binding> bindings);
  [[nodiscard]] Slot* slot_of(const Binding& binding);
  [[nodiscard]] bool is_written(const Slot& slot) const;
  [[nodiscard]] Result<void> check_one(const Binding& binding, Slot* slot) const;
  [[nodiscard]] Result<void> check_overlap(const Binding& moved, std::span<const Binding> all);

  const Graph& graph_;
  std::vector<Slot> slots_;             ///< per storage
  std::vector<std::uint32_t> slot_of_;  ///< per value that is bound: its storage's
  std::vector<std::size_t> moved_;      ///< bindings that the last check saw elsewhere than before
  std::uint64_t checks_ = 0;
};

}  // namespace dynaflow
