#include "support/step_graph.h"

#include <algorithm>

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

std::uint32_t StepGraph::hand_offs() const {
  return static_cast<std::uint32_t>(std::ranges::count_if(steps, [&](const Step& step) {
    return std::ranges::any_of(
        step.after, [&](std::uint32_t before) { return steps[before].lane != step.lane; });
  }));
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

StepCalls::StepCalls(const StepGraph& graph,
                     const std::function<Kernel(std::uint32_t step)>& kernel_of) {
  for (const StepGraph::Step& step : graph.steps) {
    kernels_.push_back(kernel_of(count()));
    views_.emplace_back(step.after.size() + 1);
    KernelArgs& args = args_.emplace_back();
    args.views = views_.back();
    args.reads = step.after.size();
  }
}

StepCalls make_empty_calls(const StepGraph& graph) {
  return {graph, [](std::uint32_t /*step*/) { return Kernel(do_nothing); }};
}

}  // namespace dynaflow::bench
