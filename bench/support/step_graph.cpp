#include "support/step_graph.h"

namespace dynaflow::bench {
namespace {

void do_nothing(const KernelArgs& /*args*/) {}

}  // namespace

std::vector<std::vector<std::uint32_t>> StepGraph::followers() const {
  std::vector<std::vector<std::uint32_t>> found(steps.size());
  for (std::uint32_t step = 0; step < steps.size(); ++step) {
    for (const std::uint32_t before : steps[step].after) found[before].push_back(step);
  }
  return found;
}

StepGraph make_chain(std::uint32_t steps) {
  StepGraph graph{"one lane", 1, {{0, {}}}};
  for (std::uint32_t i = 1; i < steps; ++i) graph.steps.push_back({0, {i - 1}});
  return graph;
}

StepGraph make_alternating_chain(std::uint32_t steps) {
  StepGraph graph = make_chain(steps);
  graph.name = "alternating lanes";
  graph.lanes = 2;
  for (std::uint32_t i = 0; i < steps; ++i) graph.steps[i].lane = i % 2;
  return graph;
}

StepGraph make_meeting_chains(std::uint32_t steps, std::uint32_t meeting) {
  StepGraph graph{"two chains", 2, {}};
  for (std::uint32_t i = 0; i < steps; ++i) {
    const std::uint32_t lane = i % 2;
    const std::uint32_t place = i / 2;
    StepGraph::Step& step = graph.steps.emplace_back(StepGraph::Step{lane, {}});
    if (place == 0) continue;
    step.after.push_back(i - 2);
    if (place % meeting == 0) step.after.push_back(2 * (place - 1) + (1 - lane));
  }
  return graph;
}

EmptyCalls::EmptyCalls(const StepGraph& graph) {
  for (const StepGraph::Step& step : graph.steps) {
    views_.emplace_back(step.after.size() + 1);
    KernelArgs& args = args_.emplace_back();
    args.views = views_.back();
    args.reads = step.after.size();
    kernels_.emplace_back(do_nothing);
  }
}

}  // namespace dynaflow::bench
