#pragma once

#include <span>
#include <vector>

#include "dynaflow/plan/plan.h"

namespace dynaflow {

/// Which steps are complete whenever another starts, whatever the lanes' speeds: one count per
/// lane and step. Found by walking the plan's lanes as a device would, from the waits alone.
class HappensBefore {
 public:
  /// P2 deadlock, naming the lanes that wait for each other, if the walk gets stuck. The plan's
  /// steps must have passed `verify_steps`.
  [[nodiscard]] static Result<HappensBefore> of(const Plan& plan, const Graph& graph);

  [[nodiscard]] bool before(StepId earlier, StepId later) const;
  [[nodiscard]] bool ordered(StepId a, StepId b) const { return before(a, b) || before(b, a); }
  /// Per lane, how many of its steps are complete when `step` starts.
  [[nodiscard]] std::span<const std::uint32_t> known_at(StepId step) const {
    return std::span(known_).subspan(step.index * lanes_, lanes_);
  }
  [[nodiscard]] std::size_t lanes() const { return lanes_; }
  /// Where the walk met the step: its place among its lane's steps.
  [[nodiscard]] std::uint32_t position(StepId step) const { return position_[step.index]; }
  [[nodiscard]] std::uint32_t lane(StepId step) const { return lane_of_[step.index]; }
  /// Every step after all that happen before it.
  [[nodiscard]] std::span<const StepId> order() const { return order_; }

 private:
  explicit HappensBefore(const Plan& plan);
  void visit(const Plan& plan, std::uint32_t lane, std::uint32_t position);
  void learn_from(StepId earlier, std::span<std::uint32_t> known) const;

  std::size_t lanes_ = 0;
  std::vector<std::uint32_t> known_;
  std::vector<std::uint32_t> lane_of_;
  std::vector<std::uint32_t> position_;
  std::vector<StepId> order_;
};

}  // namespace dynaflow
