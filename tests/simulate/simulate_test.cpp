#include "dynaflow/simulate/simulate.h"

#include <gtest/gtest.h>

#include <limits>

#include "simulate/sketch.h"

namespace dynaflow {
namespace {

constexpr std::size_t kComputeClass = static_cast<std::size_t>(CostClass::kCompute);
constexpr std::size_t kNetworkClass = static_cast<std::size_t>(CostClass::kNetwork);

Costs with_slowdown(double compute_beside_compute) {
  Costs costs;
  costs.slowdown[kComputeClass][kComputeClass] = compute_beside_compute;
  return costs;
}

Costs with_handoff(std::int64_t ns) {
  Costs costs;
  costs.handoff_ns = ns;
  return costs;
}

TEST(Simulate, TakesNoTimeForNothing) { EXPECT_EQ(run({{}}).total_ns, 0); }

TEST(Simulate, SumsTheCostsOfOneLane) {
  EXPECT_EQ(run({{{.fixed_ns = 100}, {.fixed_ns = 20}, {.fixed_ns = 3}}}).total_ns, 123);
}

TEST(Simulate, AddsTheHostCostOfEveryStep) {
  Sketch sketch{{{.fixed_ns = 100}, {.fixed_ns = 20}}};
  sketch.costs.step_ns = 7;
  EXPECT_EQ(run(sketch).total_ns, 134);
}

TEST(Simulate, CountsTheRowsOfEachMicrobatch) {
  const Sketch sketch{{{.fixed_ns = 5, .row_ns = 10, .microbatches = {0, 1}},
                       {.fixed_ns = 5, .row_ns = 10, .microbatches = {1, 2}}},
                      {3, 7}};
  EXPECT_EQ(end_of(run(sketch), 0), 35);
  EXPECT_EQ(end_of(run(sketch), 1), 35 + 75);
}

TEST(Simulate, CountsTheRowsOfAMergedStepOnce) {
  const Sketch sketch{{{.fixed_ns = 5, .row_ns = 10, .microbatches = {0, 3}}}, {3, 0, 4}};
  EXPECT_EQ(run(sketch).total_ns, 75);
}

TEST(Simulate, OverlapsIndependentLanesFully) {
  const Timeline timeline = run({{{.lane = 0, .fixed_ns = 100}, {.lane = 1, .fixed_ns = 100}}});
  EXPECT_EQ(timeline.total_ns, 100);
  EXPECT_EQ(overlapped_ns(timeline), 100);
}

TEST(Simulate, StartsAStepWhenItsWaitHolds) {
  const Timeline timeline =
      run({{{.lane = 0, .fixed_ns = 100}, {.lane = 1, .fixed_ns = 30, .after = {0}}}});
  EXPECT_EQ(begin_of(timeline, 1), 100);
}

TEST(Simulate, StartsTransfersOfAGroupAsRecorded) {
  const Timeline timeline = run({{{.lane = 0, .fixed_ns = 100},
                                  {.lane = 1, .fixed_ns = 30, .after = {0}, .group = "tp"},
                                  {.lane = 2, .fixed_ns = 30, .group = "tp"},
                                  {.lane = 3, .fixed_ns = 30, .group = "ep"}}});
  EXPECT_EQ(begin_of(timeline, 1), 100);
  EXPECT_EQ(begin_of(timeline, 2), 100);
  EXPECT_EQ(begin_of(timeline, 3), 0);
}

TEST(Simulate, StartsAStepWhenTheLastOfItsWaitsHolds) {
  const Timeline timeline = run({{{.lane = 0, .fixed_ns = 100},
                                  {.lane = 1, .fixed_ns = 250},
                                  {.lane = 2, .fixed_ns = 30, .after = {0, 1}}}});
  EXPECT_EQ(begin_of(timeline, 2), 250);
}

TEST(Simulate, KeepsALaneInOrderBehindABlockedStep) {
  const Timeline timeline = run({{{.lane = 0, .fixed_ns = 100},
                                  {.lane = 1, .fixed_ns = 10, .after = {0}},
                                  {.lane = 1, .fixed_ns = 10}}});
  EXPECT_EQ(begin_of(timeline, 2), 110);
}

TEST(Simulate, TakesTwiceAsLongWhereBothSlowEachOtherDownTwice) {
  const Timeline timeline =
      run({{{.lane = 0, .fixed_ns = 100}, {.lane = 1, .fixed_ns = 100}}, {10}, with_slowdown(2)});
  EXPECT_EQ(end_of(timeline, 0), 200);
  EXPECT_EQ(end_of(timeline, 1), 200);
}

// Both run at half speed until b has done its 100 ns, at 200; a has then done 100 of its 300.
TEST(Simulate, SlowsAStepDownOnlyWhileItHasANeighbour) {
  const Timeline timeline =
      run({{{.lane = 0, .fixed_ns = 300}, {.lane = 1, .fixed_ns = 100}}, {10}, with_slowdown(2)});
  EXPECT_EQ(end_of(timeline, 1), 200);
  EXPECT_EQ(end_of(timeline, 0), 400);
}

// The network step takes its 120 ns undisturbed; compute does 120 / 1.5 = 80 of its 200 meanwhile.
TEST(Simulate, SlowsDownOneSideOnlyWhereOnlyOneIsHurt) {
  Sketch sketch{
      {{.lane = 0, .fixed_ns = 200}, {.lane = 1, .fixed_ns = 120, .cost = CostClass::kNetwork}}};
  sketch.costs.slowdown[kComputeClass][kNetworkClass] = 1.5;
  const Timeline timeline = run(sketch);
  EXPECT_EQ(end_of(timeline, 1), 120);
  EXPECT_EQ(end_of(timeline, 0), 240);
}

// c starts at 100, beside a, which has 200 left. c needs 100 * 4 = 400 ns beside a; a, 200 * 2 =
// 400 ns beside c: both end at 500.
TEST(Simulate, WeighsEachSideByItsOwnFactorFromWhenTheyMeet) {
  Sketch sketch{{{.lane = 0, .fixed_ns = 300},
                 {.lane = 2, .fixed_ns = 100, .cost = CostClass::kMemory},
                 {.lane = 1, .fixed_ns = 100, .cost = CostClass::kNetwork, .after = {1}}}};
  sketch.costs.slowdown[kComputeClass][kNetworkClass] = 2;
  sketch.costs.slowdown[kNetworkClass][kComputeClass] = 4;
  const Timeline timeline = run(sketch);
  EXPECT_EQ(begin_of(timeline, 2), 100);
  EXPECT_EQ(end_of(timeline, 2), 500);
  EXPECT_EQ(end_of(timeline, 0), 500);
}

TEST(Simulate, MultipliesTheFactorsOfSeveralNeighbours) {
  const Sketch sketch{
      {{.lane = 0, .fixed_ns = 10}, {.lane = 1, .fixed_ns = 10}, {.lane = 2, .fixed_ns = 10}},
      {10},
      with_slowdown(3)};
  EXPECT_EQ(run(sketch).total_ns, 90);
}

// 110 ns and ten times 11 ns, stretched by 1.1: in binary fractions the sums differ by a hair, and
// the last step would seem to have waited.
TEST(Simulate, EndsStepsTogetherThatShouldEndTogether) {
  Sketch sketch{{{.lane = 0, .fixed_ns = 110}}, {10}, with_slowdown(1.1)};
  for (int i = 0; i < 10; ++i) sketch.jobs.push_back({.lane = 1, .fixed_ns = 11});
  sketch.jobs.push_back({.lane = 1, .fixed_ns = 50, .after = {0}});
  sketch.costs.handoff_ns = 1000;
  EXPECT_EQ(run(sketch).total_ns, 121 + 50);
}

TEST(Simulate, AddsTheHandoffToAStepThatHadToWait) {
  const Timeline timeline =
      run({{{.lane = 0, .fixed_ns = 100}, {.lane = 1, .fixed_ns = 30, .after = {0}}},
           {10},
           with_handoff(40)});
  EXPECT_EQ(begin_of(timeline, 1), 140);
}

TEST(Simulate, AddsNoHandoffToAStepWhoseWaitHeldAlready) {
  const Sketch sketch{{{.lane = 0, .fixed_ns = 100},
                       {.lane = 1, .fixed_ns = 101},
                       {.lane = 1, .fixed_ns = 30, .after = {0}}},
                      {10},
                      with_handoff(40)};
  EXPECT_EQ(begin_of(run(sketch), 2), 101);
}

TEST(Simulate, AddsNoHandoffWithinALane) {
  EXPECT_EQ(
      run({{{.fixed_ns = 100}, {.fixed_ns = 30, .after = {0}}}, {10}, with_handoff(40)}).total_ns,
      130);
}

// b starts at 150, not at 100: a's successor runs alone, undisturbed, until then.
TEST(Simulate, SlowsNobodyDownDuringAHandoff) {
  Sketch sketch{{{.lane = 0, .fixed_ns = 100},
                 {.lane = 1, .fixed_ns = 100, .after = {0}},
                 {.lane = 0, .fixed_ns = 50}},
                {10},
                with_slowdown(2)};
  sketch.costs.handoff_ns = 50;
  EXPECT_EQ(end_of(run(sketch), 2), 150);
}

TEST(Simulate, RunsStepsThatTakeNoTime) {
  const Timeline timeline = run({{{.lane = 0}, {.lane = 1, .after = {0}}, {.lane = 0}}});
  EXPECT_EQ(timeline.spans.size(), 3u);
  EXPECT_EQ(timeline.total_ns, 0);
}

TEST(Simulate, RoundsToWholeNanoseconds) {
  const Sketch sketch{
      {{.lane = 0, .fixed_ns = 1}, {.lane = 1, .fixed_ns = 1}}, {10}, with_slowdown(1.6)};
  EXPECT_EQ(run(sketch).total_ns, 2);
}

TEST(Simulate, ListsSpansByBeginThenLane) {
  const Timeline timeline = run(
      {{{.lane = 1, .fixed_ns = 10}, {.lane = 0, .fixed_ns = 20}, {.lane = 1, .fixed_ns = 10}}});
  EXPECT_EQ(timeline.spans[0].step, StepId{1});
  EXPECT_EQ(timeline.spans[1].step, StepId{0});
  EXPECT_EQ(timeline.spans[2].step, StepId{2});
}

TEST(Simulate, NamesLanesAndStepsAsThePlanDoes) {
  const Timeline timeline = run({{{.lane = 1, .fixed_ns = 10, .cost = CostClass::kNetwork}}});
  EXPECT_EQ(timeline.lanes, (std::vector<std::string>{"lane0", "lane1"}));
  EXPECT_EQ(timeline.spans[0].label, "op0.0");
  EXPECT_EQ(timeline.spans[0].cost, CostClass::kNetwork);
}

TEST(Simulate, KeepsWaitsAndMicrobatchesOfThePlan) {
  const Timeline timeline =
      run({{{.lane = 0, .fixed_ns = 10},
            {.lane = 1, .fixed_ns = 10, .after = {0}, .microbatches = {1, 3}}},
           {1, 1, 1}});
  EXPECT_EQ(span_of(timeline, 1).waits, (std::vector<Wait>{{0, 1}}));
  EXPECT_EQ(span_of(timeline, 1).microbatches, (MicrobatchRange{1, 3}));
}

TEST(Simulate, GivesAChainTheClassOfItsCostliestOp) {
  const Sketch sketch{{{.fixed_ns = 10}, {.fixed_ns = 90, .cost = CostClass::kMemory}}};
  Plan chain = plan_of({{{}}});
  chain.step_ops = {{0}, {1}};
  chain.steps[0].ops = {0, 2};
  chain.replacements.push_back({.name = "fused"});
  chain.steps[0].replacement = 0;
  const auto result =
      simulate(graph_of(sketch), chain, no_buffers(chain), placement_of(sketch), costs_of(sketch));
  EXPECT_EQ(result.value().timeline.spans[0].cost, CostClass::kMemory);
  EXPECT_EQ(result.value().timeline.total_ns, 100);
}

TEST(Simulate, RefusesAPlanWhoseLanesWaitForEachOther) {
  const auto result = try_run({{{.lane = 0, .waits = {{1, 1}}}, {.lane = 1, .waits = {{0, 1}}}}});
  ASSERT_FALSE(result.has_value());
  EXPECT_TRUE(result.error().broke(kDeadlock));
}

TEST(Simulate, RefusesCostsOfAnotherGraph) {
  Sketch sketch{{{.fixed_ns = 10}}};
  sketch.costs.ops.push_back({1, 1});
  EXPECT_TRUE(try_run(sketch).error().broke(kBadCosts));
}

TEST(Simulate, RefusesANegativeCost) {
  EXPECT_TRUE(try_run({{{.row_ns = -1}}}).error().broke(kBadCosts));
}

TEST(Simulate, RefusesASlowdownThatIsNoFactor) {
  EXPECT_TRUE(try_run({{}, {10}, with_slowdown(0)}).error().broke(kBadCosts));
  EXPECT_TRUE(try_run({{}, {10}, with_slowdown(1e9)}).error().broke(kBadCosts));
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_TRUE(try_run({{}, {10}, with_slowdown(nan)}).error().broke(kBadCosts));
}

}  // namespace
}  // namespace dynaflow
