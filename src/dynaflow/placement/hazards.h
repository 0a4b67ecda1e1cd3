#pragma once

#include <string>
#include <vector>

#include "dynaflow/placement/placement.h"

namespace dynaflow {

/// A byte that some order of the steps would get wrong.
struct Hazard {
  enum class What : std::uint8_t {
    kRace,        ///< two steps touch the byte, one writes, and nothing orders them
    kClobbered,   ///< a step reads a byte that another value has overwritten
    kOutOfBounds  ///< a view reaches outside the arena or the caller's memory
  };
  What what = What::kRace;
  StepId first;   ///< the earlier step in the plan's order (invalid: the caller)
  StepId second;  ///< the later one (invalid: the caller)
  ValueId value;  ///< what `second` accesses there
  std::string detail;
};

/// Watches every byte of arena, caller memory and state through one walk of the plan. Exact: no
/// hazard means that every order the plan allows computes the same bytes.
[[nodiscard]] std::vector<Hazard> find_hazards(const Graph& graph, const Plan& plan,
                                               const Buffers& buffers, const Placement& placement,
                                               const HappensBefore& hb);

/// One sentence that names the steps and the value.
[[nodiscard]] std::string describe(const Graph& graph, const Plan& plan, const Hazard& hazard);

}  // namespace dynaflow
