#include "support/contenders.h"

namespace dynaflow::bench {

Contenders::Contenders(const StepGraph& graph, const StepCalls& calls)
    : graph_(graph),
      calls_(calls),
      program_(graph, calls),
      tasks_(graph, calls, FlowGraph::Nodes::kTasks),
      lightweight_(graph, calls, FlowGraph::Nodes::kLightweight),
      arenas_(graph, calls),
      pool_(graph, calls),
      bare_(calls) {}

std::vector<Contender> Contenders::list() {
  using Role = Contender::Role;
  const auto loop = [&calls = calls_] {
    for (std::uint32_t step = 0; step < calls.count(); ++step) calls.call(step);
  };
  std::vector<Contender> all{
      {"plain loop", Role::kBaseline, loop},
      {"DynaFlow", Role::kOurs, [this] { program_.run(); }},
      {"oneTBB flow graph", Role::kNoLanes, [this] { tasks_.run(); }},
      {"oneTBB lightweight flow graph", Role::kNoLanes, [this] { lightweight_.run(); }},
      {"oneTBB arena per lane", Role::kRival, [this] { arenas_.run(); }},
      {"condition variables", Role::kRival, [this] { pool_.run(); }},
  };
  if (graph_.hands_over_always()) {
    all.push_back({"one atomic by hand", Role::kBareLanes, [this] { bare_.run(); }});
  }
  return all;
}

}  // namespace dynaflow::bench
