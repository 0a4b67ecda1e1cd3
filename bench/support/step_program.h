#pragma once

#include <memory>
#include <vector>

#include "dynaflow/dynaflow.h"
#include "support/step_graph.h"

namespace dynaflow::bench {

/// A StepGraph as a verified Program on CPU lanes: its order is the order of its data.
class StepProgram {
 public:
  StepProgram(const StepGraph& steps, const StepCalls& calls);

  void run();

 private:
  void make_program(Graph graph, const StepGraph& steps);
  void bind_all(const Graph& graph);

  CpuDevice cpu_;
  std::unique_ptr<Program> program_;
  std::vector<std::vector<float>> memory_;
  std::vector<Binding> bindings_;
};

}  // namespace dynaflow::bench
