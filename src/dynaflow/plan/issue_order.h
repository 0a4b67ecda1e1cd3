#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "dynaflow/plan/plan.h"

namespace dynaflow {

/// In which order a plan's transfers are issued: those of one process group as they were recorded,
/// which is the same on every rank, whichever lanes they are on and however many are on their way.
class IssueOrder {
 public:
  IssueOrder(const Graph& graph, const Plan& plan);

  /// A step's place among the steps that have transfers of one group.
  struct Place {
    std::uint32_t group = 0;
    std::uint32_t number = 0;
  };
  /// One for each group that the step has transfers of: none for most.
  [[nodiscard]] std::span<const Place> of(StepId step) const {
    return std::span(places_).subspan(of_step_[step.index].first, of_step_[step.index].count);
  }
  [[nodiscard]] std::size_t groups() const { return steps_.size(); }
  [[nodiscard]] StepId step(Place place) const { return steps_[place.group][place.number]; }

 private:
  std::vector<Slice> of_step_;
  std::vector<Place> places_;
  std::vector<std::vector<StepId>> steps_;  ///< per group, in order
};

}  // namespace dynaflow
