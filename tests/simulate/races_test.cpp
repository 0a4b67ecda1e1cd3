#include <gtest/gtest.h>

#include "dynaflow/graph/builder.h"
#include "dynaflow/simulate/simulate.h"

namespace dynaflow {
namespace {

/// `make` writes y from x, `use` reads y.
Graph producer_and_consumer() {
  const Type row{Kind::kSplit, DType::kF32, 4};
  GraphBuilder builder;
  const ValueId x = builder.input("x", row);
  const ValueId y = builder.value("y", row);
  const ValueId z = builder.value("z", row);
  OpSpec make;
  make.name = "make";
  make.reads = {x};
  make.writes = {y};
  builder.op(make);
  OpSpec use;
  use.name = "use";
  use.reads = {y};
  use.writes = {z};
  builder.op(use);
  builder.output(z);
  return builder.build().value();
}

/// Each op on a lane of its own.
Plan on_two_lanes(const Graph& graph) {
  Schedule schedule;
  schedule.key.microbatches = 1;
  schedule.key.empty = {0};
  schedule.lanes = {{"first", {}}, {"second", {}}};
  schedule.steps.resize(2);
  for (std::uint32_t i = 0; i < 2; ++i) {
    schedule.steps[i].ops = {{i}};
    schedule.steps[i].microbatches = {{0}};
    schedule.steps[i].lane = {i};
  }
  return make_plan(graph, schedule);
}

Plan without_waits(Plan plan) {
  for (Step& step : plan.steps) step.waits = {};
  plan.step_waits.clear();
  return plan;
}

Simulation run(const Graph& graph, const Plan& plan) {
  const HappensBefore hb = HappensBefore::of(plan, graph).value();
  const Buffers buffers = make_buffers(graph, plan, hb);
  const Placement placement = make_placement(graph, plan, buffers, Split{{8}}).value();
  Costs costs;
  costs.ops = {{100, 0}, {100, 0}};
  return simulate(graph, plan, buffers, placement, costs).value();
}

TEST(SimulateRaces, AreNoneWhereWaitsOrderWhatTheyMust) {
  const Graph graph = producer_and_consumer();
  EXPECT_TRUE(run(graph, on_two_lanes(graph)).races.empty());
}

TEST(SimulateRaces, AreFoundWhereAWaitIsMissing) {
  const Graph graph = producer_and_consumer();
  EXPECT_FALSE(run(graph, without_waits(on_two_lanes(graph))).races.empty());
}

TEST(SimulateRaces, DoNotKeepTheTimelineBack) {
  const Graph graph = producer_and_consumer();
  EXPECT_EQ(run(graph, without_waits(on_two_lanes(graph))).timeline.total_ns, 100);
}

TEST(SimulateRaces, EndWhereAWaitPutsOneStepAfterTheOther) {
  const Graph graph = producer_and_consumer();
  EXPECT_EQ(run(graph, on_two_lanes(graph)).timeline.total_ns, 200);
}

}  // namespace
}  // namespace dynaflow
