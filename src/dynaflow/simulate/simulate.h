#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "dynaflow/placement/hazards.h"
#include "dynaflow/placement/placement.h"
#include "dynaflow/timeline/timeline.h"

namespace dynaflow {

/// What ops are taken to cost. `slowdown[a][b]`: how many times longer a step of class a takes
/// while one of class b runs beside it on another lane; several neighbours multiply. A step has
/// the class of its costliest op.
struct Costs {
  struct PerOp {
    std::int64_t fixed_ns = 0;
    std::int64_t row_ns = 0;
  };
  std::vector<PerOp> ops;  ///< per op of the graph
  std::array<std::array<double, 3>, 3> slowdown{{{1, 1, 1}, {1, 1, 1}, {1, 1, 1}}};
  std::int64_t step_ns = 0;     ///< host cost of every step
  std::int64_t handoff_ns = 0;  ///< from a step's end to the start of one on another lane that was
                                ///< already waiting for it
};

struct Simulation {
  Timeline timeline;
  std::vector<Hazard> races;  ///< every hazard over byte ranges; empty for a verified plan
};

/// Runs the plan on a virtual clock. A pure function: equal arguments, equal results.
/// P4 bad-step or P2 deadlock if the plan cannot run; R8 bad-costs if the costs fit no clock or
/// another graph.
[[nodiscard]] Result<Simulation> simulate(const Graph& graph, const Plan& plan,
                                          const Buffers& buffers, const Placement& placement,
                                          const Costs& costs);

}  // namespace dynaflow
