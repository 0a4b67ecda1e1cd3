#pragma once

#include <span>
#include <vector>

#include "dynaflow/plan/plan.h"

namespace dynaflow {

/// Which steps are complete whenever another starts, whatever the lanes' speeds: one count per
/// lane and step. Found by walking the plan's lanes as a device would, from the waits alone.
class HappensBefore {
 public:
  /// P2 deadlock, naming the lanes that wait for each other, if the walk gets stuck; P3 if a step
  /// is on no lane.
  [[nodiscard]] static Result<HappensBefore> of(const Plan& plan, const Graph& graph);

  [[nodiscard]] bool before(StepId earlier, StepId later) const;
  [[nodiscard]] bool ordered(StepId a, StepId b) const { return before(a, b) || before(b, a); }
  /// Per lane, how many of its steps are complete when `step` starts.
  [[nodiscard]] std::span<const std::uint32_t> known_at(StepId step) const {
    return std::span(known_).subspan(step.index * lanes_, lanes_);
  }
  [[nodiscard]] std::size_t lanes() const { return lanes_; }
  /// Every step after all that happen before it.
  [[nodiscard]] std::span<const StepId> order() const { return order_; }

 private:
  std::size_t lanes_ = 0;
  std::vector<std::uint32_t> known_;
  std::vector<std::uint32_t> lane_of_;
  std::vector<std::uint32_t> position_;
  std::vector<StepId> order_;
};

}  // namespace dynaflow
