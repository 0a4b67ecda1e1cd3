// Plans broken by hand, one rule each.
#include "dynaflow/plan/verify.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "dynaflow/schedule/op_scheduler.h"
#include "dynaflow/strategies/comm_overlap.h"
#include "dynaflow/strategies/strategies.h"
#include "support/findings.h"
#include "support/models.h"
#include "support/scripted.h"

namespace dynaflow::testing {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Not;

Plan plan_of(const Graph& graph, const OpScheduler& strategy, const Split& split = {{4, 4}}) {
  return make_plan(graph, record(graph, strategy, split));
}

std::vector<Diagnostic> judge(const Graph& graph, const Plan& plan) {
  const auto hb = HappensBefore::of(plan, graph);
  return hb ? verify(graph, plan, *hb) : hb.error().findings;
}

/// The wait of the i-th step that has one is gone.
Plan without_wait(Plan plan, std::size_t i) {
  std::size_t seen = 0;
  for (Step& step : plan.steps) {
    if (step.waits.count > 0 && seen++ == i) step.waits.count = 0;
  }
  return plan;
}

TEST(PlanRules, AcceptWhatMakePlanMakes) {
  const Model model = two_layers();
  EXPECT_THAT(judge(model.graph, plan_of(model.graph, Leapfrog(2))), IsEmpty());
}

TEST(PlanRules, AcceptEmptyMicrobatches) {
  const Model model = two_layers();
  EXPECT_THAT(judge(model.graph, plan_of(model.graph, Leapfrog(2), {{0, 8}})), IsEmpty());
}

TEST(PlanRules, AcceptASumInAnyOrder) {
  const Model model = with_sum();
  const Plan plan = plan_of(model.graph, Scripted([](ScheduleContext& ctx) {
                              while (ctx.unfinished()) ctx.execute(ctx.get_ready_ops().back());
                            }));
  EXPECT_THAT(judge(model.graph, plan), IsEmpty());
}

TEST(RuleP1, RefusesAReadThatMayPrecedeItsWrite) {
  const Model model = two_layers();
  EXPECT_THAT(judge(model.graph, without_wait(plan_of(model.graph, Leapfrog(2)), 0)),
              Contains(AllOf(Broke(kMissingWait), Says("reduce0 on microbatch 0 (lane network)"),
                             Says("attn0 on microbatch 0 (lane compute)"), Says("'a0'"))));
}

TEST(RuleP1, RefusesEveryPlanThatLacksAWait) {
  const Model model = two_layers();
  const Plan plan = plan_of(model.graph, Leapfrog(2));
  for (std::size_t i = 0; i < plan.step_waits.size(); ++i) {
    EXPECT_THAT(judge(model.graph, without_wait(plan, i)), Contains(Broke(kMissingWait)));
  }
}

TEST(RuleP1, RefusesPartsOfASumThatMayMeet) {
  const Model model = with_sum();
  const Plan plan = plan_of(model.graph, Branches(2, 2));
  EXPECT_THAT(judge(model.graph, without_wait(plan, 0)),
              Contains(AllOf(Broke(kMissingWait), Says("sum"), Says("'s'"))));
}

TEST(RuleP1, RefusesASumThatNobodyStarts) {
  const Model model = with_sum();
  Plan plan = plan_of(model.graph, Sequential(2));
  for (Operand& operand : plan.step_operands) {
    const bool sum = model.graph.value(operand.value).type.kind == Kind::kPartial;
    if (sum && operand.access == Access::kWrite) operand.access = Access::kAccumulate;
  }
  EXPECT_THAT(judge(model.graph, plan), ElementsAre(AllOf(Broke(kMissingWait), Says("'s'"))));
}

TEST(RuleP1, NamesTheStrategy) {
  const Model model = two_layers();
  EXPECT_THAT(judge(model.graph, without_wait(plan_of(model.graph, Leapfrog(2)), 0)),
              Each(At("Leapfrog")));
}

TEST(RuleP2, RefusesLanesThatWaitForEachOther) {
  const Model model = two_layers();
  Plan plan = plan_of(model.graph, Leapfrog(2));
  Step& first = plan.steps.at(plan.lane_steps.at(0).at(0).index);
  first.waits = {static_cast<std::uint32_t>(plan.step_waits.size()), 1};
  plan.step_waits.push_back({1, 1});
  EXPECT_THAT(
      judge(model.graph, plan),
      ElementsAre(AllOf(Broke(kDeadlock), Says("attn0.0 on lane compute waits for reduce0.0"),
                        Says("reduce0.0 on lane network waits for attn0.0"))));
}

TEST(RuleP2, RefusesATransferThatWaitsForOneThatIsIssuedLater) {
  const Model model = two_layers();
  Plan plan = plan_of(model.graph, CommOverlap(2));
  Step& first = plan.steps.at(plan.lane_steps.at(1).at(0).index);
  first.waits = {static_cast<std::uint32_t>(plan.step_waits.size()), 2};
  plan.step_waits.push_back({0, 1});
  plan.step_waits.push_back({2, 1});
  EXPECT_THAT(
      judge(model.graph, plan),
      ElementsAre(AllOf(Broke(kDeadlock), Says("reduce0.0 on lane network waits for reduce0.1"),
                        Says("reduce0.1 on lane network2 is issued after reduce0.0"))));
}

TEST(RuleP2, RefusesAWaitForAStepThatIsNotThere) {
  const Model model = two_layers();
  Plan plan = plan_of(model.graph, Leapfrog(2));
  plan.step_waits.at(0).count = 99;
  EXPECT_THAT(judge(model.graph, plan),
              ElementsAre(AllOf(Broke(kDeadlock), Says("a step that is not there"))));
}

/// The last step of the plan is gone.
Plan without_last_step(Plan plan) {
  plan.lane_steps.at(plan.steps.back().lane.index).pop_back();
  plan.steps.pop_back();
  return plan;
}

TEST(RuleP3, RefusesAPlanThatLacksAStep) {
  const Model model = three_in_a_row();
  EXPECT_THAT(judge(model.graph, without_last_step(plan_of(model.graph, Sequential(2)))),
              ElementsAre(AllOf(Broke(kStepLost), Says("third runs 0 times on microbatch 1"))));
}

TEST(RuleP3, RefusesAPlanThatRunsAStepTwice) {
  const Model model = three_in_a_row();
  Plan plan = plan_of(model.graph, Sequential(2));
  Step again = plan.steps.back();
  again.position += 1;
  plan.lane_steps.at(0).push_back(id_at<StepId>(plan.steps.size()));
  plan.steps.push_back(again);
  EXPECT_THAT(judge(model.graph, plan),
              Contains(AllOf(Broke(kStepLost), Says("third runs 2 times on microbatch 1"))));
}

TEST(RuleP3, AcceptsThatAnEmptyMicrobatchIsSkipped) {
  const Model model = three_in_a_row();
  Plan plan = without_last_step(plan_of(model.graph, Sequential(2)));
  plan.key.empty = {0, 1};
  EXPECT_THAT(judge(model.graph, plan), IsEmpty());
}

TEST(RuleP3, RefusesThatAnEmptyMicrobatchSkipsItsCollective) {
  const Model model = two_layers();
  Plan plan = plan_of(model.graph, Sequential(2), {{4, 0}});
  for (Step& step : plan.steps) {
    if (step.microbatches == MicrobatchRange{1, 2}) step.microbatches = {0, 1};
  }
  EXPECT_THAT(judge(model.graph, plan),
              Contains(AllOf(Broke(kStepLost), Says("reduce0 runs 0 times on microbatch 1"))));
}

TEST(PlanRules, SayWhatIsWrongWithAStepThatNoLaneHas) {
  const Model model = three_in_a_row();
  Plan plan = plan_of(model.graph, Sequential(2));
  plan.lane_steps.at(0).pop_back();
  EXPECT_THAT(verify_steps(model.graph, plan),
              ElementsAre(AllOf(Broke(kBadStep), Says("third on microbatch 1 is on no lane"))));
}

TEST(PlanRules, SayWhatToDo) {
  const Model model = two_layers();
  EXPECT_THAT(judge(model.graph, without_wait(plan_of(model.graph, Leapfrog(2)), 0)),
              Each(::testing::Field(&Diagnostic::fix, Not(IsEmpty()))));
}

}  // namespace
}  // namespace dynaflow::testing
