#pragma once

#include <functional>
#include <string>
#include <vector>

#include "support/bare_lanes.h"
#include "support/condvar_pool.h"
#include "support/flow_graph.h"
#include "support/lane_arenas.h"
#include "support/step_graph.h"
#include "support/step_program.h"

namespace dynaflow::bench {

/// One way to run a StepGraph.
struct Contender {
  enum class Role {
    kBaseline,   ///< the calls alone
    kOurs,       ///< DynaFlow
    kRival,      ///< runs each step on its lane
    kNoLanes,    ///< a rival that runs a step on any thread, so it need not hand it over
    kBareLanes,  ///< what the hardware allows
  };

  std::string name;
  Role role;
  std::function<void()> run;
};

/// All of them for one graph, warm between runs.
class Contenders {
 public:
  Contenders(const StepGraph& graph, const StepCalls& calls);

  /// The plain loop first, then DynaFlow, then the others.
  [[nodiscard]] std::vector<Contender> list();

 private:
  const StepGraph& graph_;
  const StepCalls& calls_;
  StepProgram program_;
  FlowGraph tasks_;
  FlowGraph lightweight_;
  LaneArenas arenas_;
  CondvarPool pool_;
  BareLanes bare_;
};

}  // namespace dynaflow::bench
