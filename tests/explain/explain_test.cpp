#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "explain/timelines.h"

namespace dynaflow {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

std::vector<std::string> labels(const Explanation::Path& path) {
  std::vector<std::string> found;
  for (const auto& step : path.steps) found.push_back(step.label);
  return found;
}

/// Half a run of compute, then a network step that nothing else runs beside.
Timeline exposed() {
  return {{"compute", "network"},
          {compute(0, 0, "up.0", 0, 400), network(1, 1, "ar.0", 400, 900, {{0, 1}}),
           compute(2, 0, "down.0", 900, 1000, {{1, 1}})},
          1000};
}

/// A network step that runs entirely beside compute.
Timeline hidden() {
  return {{"compute", "network"},
          {compute(0, 0, "up.0", 0, 500), compute(1, 0, "other.0", 500, 1000),
           network(2, 1, "ar.0", 500, 900, {{0, 1}})},
          1000};
}

TEST(Explain, WalksBackThroughWhatReleasedEachStep) {
  EXPECT_THAT(labels(explain(leapfrog()).path), ElementsAre("attn.0", "attn.1", "ar.1", "mlp.1"));
}

TEST(Explain, SplitsThePathByWhatStepsUse) {
  const Explanation::Path path = explain(leapfrog()).path;
  EXPECT_EQ(path.busy, (CostTimes{6500, 0, 2500}));
  EXPECT_EQ(path.host_ns, 1000);
  EXPECT_EQ(path.steps.back().gap_ns, 500);
  EXPECT_EQ(path.end_ns, 500);
}

TEST(Explain, CountsNetworkTimeWithNothingBesideItAsExposed) {
  EXPECT_EQ(explain(leapfrog()).exposed_ns, 1500);
  EXPECT_EQ(explain(leapfrog()).network_ns, 4000);
  EXPECT_EQ(explain(hidden()).exposed_ns, 0);
}

TEST(Explain, CountsAMemoryStepAsBesideTheNetwork) {
  Timeline timeline = hidden();
  timeline.spans[1].cost = CostClass::kMemory;
  EXPECT_EQ(explain(timeline).exposed_ns, 0);
}

TEST(Explain, CountsNetworkTimeOnceHoweverManyTransfersRun) {
  const Timeline timeline{
      {"a", "b"}, {network(0, 0, "x.0", 0, 60), network(1, 1, "y.0", 40, 100)}, 100};
  EXPECT_EQ(explain(timeline).exposed_ns, 100);
}

TEST(Explain, SplitsALanesTimeByWhatItDid) {
  const Explanation::Lane lane = explain(leapfrog()).lanes[0];
  EXPECT_EQ(lane.busy, (CostTimes{7500, 0, 0}));
  EXPECT_EQ(lane.waited, (CostTimes{0, 0, 1500}));
  EXPECT_EQ(lane.tail_ns, 0);
  EXPECT_EQ(lane.host_ns, 1000);  // 500 before mlp.1, 500 at the end
}

TEST(Explain, CallsTheTimeAfterALanesLastStepItsTail) {
  EXPECT_EQ(explain(leapfrog()).lanes[1].tail_ns, 3000);
}

TEST(Explain, CountsTheTimeBeforeALanesFirstStepAsWaiting) {
  EXPECT_EQ(explain(leapfrog()).lanes[1].waited.compute_ns, 2500);  // 500 of them for attn.1
}

TEST(Explain, CountsAStartWithNothingToWaitForAsTheHosts) {
  EXPECT_EQ(explain({{"a"}, {compute(0, 0, "op.0", 30, 100)}, 100}).lanes[0].host_ns, 30);
}

TEST(Explain, NamesWhatALaneWaitedForTheLongestFirst) {
  const auto waited = explain(exposed()).lanes[0].waited_for;
  ASSERT_EQ(waited.size(), 1u);
  EXPECT_EQ(waited[0].op, "ar");
  EXPECT_EQ(waited[0].lane, LaneId{1});
  EXPECT_EQ(waited[0].ns, 500);
}

TEST(Explain, BlamesTheWaitThatWasFulfilledLast) {
  const Timeline timeline{{"a", "b", "c"},
                          {compute(0, 0, "early.0", 0, 100), network(1, 1, "late.0", 0, 250),
                           compute(2, 2, "op.0", 250, 300, {{0, 1}, {1, 1}})},
                          300};
  EXPECT_EQ(explain(timeline).lanes[2].waited, (CostTimes{0, 0, 250}));
}

TEST(Explain, CountsStepsThatStoodBehindOthersThoughTheirWaitsHeld) {
  EXPECT_EQ(explain(leapfrog()).lanes[0].queued_ns, 500);  // mlp.0, behind attn.1 from 3500
}

TEST(Explain, CountsTimeInWhichSeveralStepsAreQueuedOnce) {
  const Timeline timeline{
      {"a", "b"},
      {network(0, 1, "x.0", 0, 100), compute(1, 0, "p.0", 0, 300),
       compute(2, 0, "q.0", 300, 400, {{1, 1}}), compute(3, 0, "r.0", 400, 500, {{1, 1}})},
      500};
  EXPECT_EQ(explain(timeline).lanes[0].queued_ns, 300);  // from 100 to 400
}

TEST(Explain, CountsTimeInWhichOthersHadTheCore) {
  Timeline timeline{{"a", "b"},
                    {compute(0, 0, "p.0", 0, 300), network(1, 1, "x.0", 0, 300),
                     compute(2, 0, "q.0", 300, 400), compute(3, 0, "r.0", 400, 500)},
                    500};
  timeline.spans[0].cpu_ns = 220;
  timeline.spans[1].cpu_ns = 10;   // sleeps while on the wire
  timeline.spans[2].cpu_ns = 105;  // clocks differ a little; of r.0 nothing is known
  EXPECT_EQ(explain(timeline).lanes[0].taken_ns, 80);
  EXPECT_EQ(explain(timeline).lanes[1].taken_ns, 0);
  EXPECT_EQ(explain(timeline).lanes[0].busy, (CostTimes{500, 0, 0})) << "part of it, not beside it";
  EXPECT_THAT(advice(explain(timeline)), Contains("For 80 ns in steps of a other threads had the "
                                                  "core: the network's, or other processes'."));
}

TEST(Explain, BoundsARunByItsBusiestLane) {
  const Explanation::Bound bound = explain(leapfrog()).bound;
  EXPECT_EQ(bound.ns, 7500);
  EXPECT_EQ(bound.by, Explanation::Bound::By::kLane);
  EXPECT_EQ(bound.lane, LaneId{0});
  EXPECT_DOUBLE_EQ(explain(leapfrog()).share(), 0.75);
}

TEST(Explain, BoundsARunByItsLongestChainOfWaits) {
  const Explanation explanation = explain(exposed());
  EXPECT_EQ(explanation.bound.ns, 1000);
  EXPECT_EQ(explanation.bound.by, Explanation::Bound::By::kWaits);
}

TEST(Explain, FollowsWaitsBetweenStepsThatTakeNoTime) {
  const Timeline timeline{
      {"a", "b"}, {compute(2, 0, "c.0", 50, 50, {{1, 1}}), compute(0, 1, "b.0", 10, 50)}, 50};
  EXPECT_THAT(labels(explain(timeline).path), ElementsAre("b.0", "c.0"));
}

TEST(Explain, HasNothingToSayAboutAnEmptyRun) {
  EXPECT_EQ(to_string(explain({})), "explanation  0 lanes, 0 steps, 0 ns\n");
}

TEST(Explain, CountsALaneWithoutStepsAsTailAndHost) {
  const Timeline timeline{{"a", "idle"}, {compute(0, 0, "op.0", 0, 90)}, 100};
  EXPECT_EQ(explain(timeline).lanes[1].tail_ns, 90);
  EXPECT_EQ(explain(timeline).lanes[1].host_ns, 10);
}

TEST(Explain, IgnoresWaitsThatTheTimelineDoesNotBearOut) {
  const Timeline timeline{{"a", "b"},
                          {compute(0, 0, "x.0", 0, 60, {{1, 9}, {7, 1}, {1, 1}}),
                           compute(1, 1, "y.0", 0, 100, {{0, 1}})},
                          100};
  EXPECT_EQ(explain(timeline).bound.ns, 100);
  EXPECT_THAT(labels(explain(timeline).path), ElementsAre("y.0"));
}

TEST(Explain, EndsWhereStepsWithoutLengthWaitForEachOther) {
  const Timeline timeline{
      {"a", "b"}, {compute(0, 0, "x.0", 5, 5, {{1, 1}}), compute(1, 1, "y.0", 5, 5, {{0, 1}})}, 10};
  EXPECT_EQ(explain(timeline).path.steps.size(), 1u);
}

TEST(Explain, ReportsARun) {
  EXPECT_EQ(to_string(explain(leapfrog())), R"(explanation  2 lanes, 6 steps, 10.0 us
  critical path  4 steps: compute 6.5 us (65 %), network 2.5 us (25 %), host 1.0 us (10 %)
  most of it     attn 4.0 us (40 %), ar 2.5 us (25 %), mlp 2.5 us (25 %)
  exposed        1.5 us (15 %): of 4.0 us network time with no other step beside it
  bound          7.5 us (75 %): lane compute is busy that long, whatever the order of these steps

  lane      busy   waits: compute   memory   network   tail   host  | queued   taken
  compute   75 %                -        -      15 %      -   10 %  |    5 %       -
  network   40 %             25 %        -         -   30 %    5 %  |      -       -

  compute waited 1.5 us for the network, longest for ar: exposed. More or other micro-batches could hide it.
  Between steps the critical path loses 10 % to the host, 250 ns per step: fewer or longer steps would lose less.
  Another order of these steps on these lanes could save 2.5 us (25 %) at most.
)");
}

TEST(Explain, ReportsWhatTheGuideShows) {
  std::ifstream file("docs/reading-a-run.md");
  const std::string guide{std::istreambuf_iterator<char>(file), {}};
  EXPECT_THAT(guide, HasSubstr("```text\n" + to_string(explain(leapfrog())) + "```"));
}

TEST(Explain, ReportsARunOnOneLane) {
  const Timeline timeline{{"compute"}, {compute(0, 0, "op.0", 0, 996)}, 1000};
  EXPECT_EQ(to_string(explain(timeline)), R"(explanation  1 lane, 1 step, 1.0 us
  critical path  1 step: compute 996 ns (100 %), host 4 ns (<1 %)
  most of it     op 996 ns (100 %)
  exposed        no network steps
  bound          996 ns (100 %): lane compute is busy that long, whatever the order of these steps

  lane       busy   waits: compute   memory   network   tail   host  | queued   taken
  compute   100 %                -        -         -      -   <1 %  |      -       -

  Another order of these steps on these lanes could save 4 ns (1 %) at most.
)");
}

TEST(Advice, SaysThatTransfersAreHidden) {
  EXPECT_THAT(advice(explain(hidden())),
              Contains("100 % of the network time is hidden behind other steps; network waits for "
                       "compute 50 % of the time."));
}

TEST(Advice, AsksForASplitWhereThereIsOneMicrobatch) {
  EXPECT_THAT(advice(explain(exposed())), Contains(HasSubstr("split the batch")));
}

TEST(Advice, AsksForALaneWhereTheNetworkHoldsOthersUp) {
  const Timeline timeline{
      {"main"}, {compute(0, 0, "up.0", 0, 600), network(1, 0, "ar.0", 600, 1000)}, 1000};
  EXPECT_THAT(advice(explain(timeline)),
              ElementsAre("400 ns of network time is exposed: main runs it between other steps. A "
                          "lane of its own and two micro-batches could hide it.",
                          "On these lanes these steps cannot take less time."));
}

TEST(Advice, NamesTheLaneThatCouldTakeMore) {
  const Timeline timeline{
      {"left", "right"}, {compute(0, 0, "a.0", 0, 1000), compute(1, 1, "b.0", 0, 300)}, 1000};
  EXPECT_THAT(
      advice(explain(timeline)),
      Contains("left is busy 100 % of the time, right 30 %: steps that moved to right would "
               "lower the bound."));
}

TEST(Advice, AsksNobodyToMoveComputeToTheNetwork) {
  EXPECT_THAT(advice(explain(hidden())), Not(Contains(HasSubstr("moved"))));
}

TEST(Advice, NamesHostTimeOnThePath) {
  const Timeline timeline{
      {"a"}, {compute(0, 0, "x.0", 0, 400), compute(1, 0, "y.0", 800, 1000)}, 1000};
  EXPECT_THAT(advice(explain(timeline)),
              Contains(HasSubstr("loses 40 % to the host, 200 ns per step")));
}

}  // namespace
}  // namespace dynaflow
