#pragma once

#include <memory>
#include <vector>

#include "dynaflow/placement/placed_plan.h"

namespace dynaflow {

/// The bodies of a Program's steps, bound to its sizes. Steps of one lane that have the same body
/// and equal views share one; steps of different lanes never do, since they may run side by side.
class BoundBodies {
 public:
  /// R1 with the op's name, if a body refuses to be bound.
  [[nodiscard]] static Result<BoundBodies> make(const PlacedPlan& plan, const Placement& placement);

  /// Null for steps that a kernel runs.
  [[nodiscard]] BoundBody* of(std::size_t step) const { return of_step_[step]; }
  /// How many there are.
  [[nodiscard]] std::size_t count() const { return bodies_.size(); }

 private:
  std::vector<std::shared_ptr<BoundBody>> bodies_;
  std::vector<BoundBody*> of_step_;
};

}  // namespace dynaflow
