#pragma once

#include <tbb/task_arena.h>

#include <memory>

#include "support/step_graph.h"

namespace dynaflow::bench {

/// oneTBB's flow graph: a continue_node per step and an edge per dependency, built once and run
/// again and again. It has no lanes: any of the arena's threads may run any step.
class FlowGraph {
 public:
  enum class Nodes {
    kTasks,        ///< each node's body is a task
    kLightweight,  ///< a body runs inside its predecessor's task where it can
  };

  /// The arena has as many threads as the graph has lanes, the caller's included.
  FlowGraph(const StepGraph& steps, const StepCalls& calls, Nodes nodes);
  ~FlowGraph();

  void run();

 private:
  class Network;
  template <class Policy>
  class NetworkOf;

  tbb::task_arena arena_;
  std::unique_ptr<Network> network_;
};

}  // namespace dynaflow::bench
