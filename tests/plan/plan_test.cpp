#include "dynaflow/plan/plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "dynaflow/plan/happens_before.h"
#include "dynaflow/schedule/op_scheduler.h"
#include "dynaflow/strategies/strategies.h"
#include "support/models.h"
#include "support/scripted.h"

namespace dynaflow::testing {
namespace {

using ::testing::ElementsAre;

Plan plan_of(const Graph& graph, const OpScheduler& strategy, const Split& split = {{4, 4}}) {
  return make_plan(graph, record(graph, strategy, split));
}

/// two_branches with its branches fused on microbatch 0 and merged on the others.
void fuse_and_merge(ScheduleContext& ctx) {
  const Lane side = ctx.lane("side");
  ctx.execute(ctx.get_ready_ops(Microbatch{0}),
              {.lane = side, .replace_func = Replacement{"both", {kRow}, {kRow, kRow}, mix(1)}});
  ctx.execute({ready(ctx, "left", 1), ready(ctx, "left", 2)}, {.lane = ctx.lane("main")});
  ctx.execute({ready(ctx, "right", 1), ready(ctx, "right", 2)}, {.lane = side});
  ctx.execute(ctx.get_ready_ops(), {.lane = ctx.lane("main")});
}

TEST(Plan, PrintsItsPicture) {
  const Model model = two_branches();
  EXPECT_EQ(to_string(plan_of(model.graph, Scripted(fuse_and_merge), {{2, 2, 2}}), model.graph),
            "plan  3 microbatches, 2 lanes, 4 steps, 1 wait\n"
            "  side | both[left+right].0   right.1-2\n"
            "  main | left.1-2                         join.0-2 <right.1-2\n");
}

TEST(Plan, PrintsNothingWhereThereIsNothing) {
  const Graph graph = GraphBuilder().build().value();
  EXPECT_EQ(to_string(plan_of(graph, Sequential(), {{4}}), graph),
            "plan  1 microbatch, 1 lane, 0 steps, 0 waits\n");
}

TEST(Plan, LabelsAStep) {
  const Model model = three_in_a_row();
  const Plan plan = plan_of(model.graph, Sequential(2));
  EXPECT_EQ(label(model.graph, plan, plan.steps.back()), "third.1");
}

TEST(Plan, DescribesAStep) {
  const Model model = three_in_a_row();
  const Plan plan = plan_of(model.graph, Sequential(2));
  EXPECT_EQ(describe(model.graph, plan, plan.steps.back()), "third on microbatch 1");
}

TEST(Plan, DescribesAMergedStep) {
  const Model model = with_mean();
  const Plan plan = plan_of(model.graph, Sequential(2));
  EXPECT_EQ(describe(model.graph, plan, plan.steps.at(2)), "mean on microbatches 0-1");
}

TEST(Plan, NumbersTheStepsOfEachLane) {
  const Model model = two_layers();
  const Plan plan = plan_of(model.graph, Leapfrog(2));
  for (const auto& steps : plan.lane_steps) {
    for (std::uint32_t i = 0; i < steps.size(); ++i) {
      EXPECT_EQ(plan.steps[steps[i].index].position, i);
    }
  }
}

TEST(Plan, GivesAReplacedChainItsOuterOperandsOnly) {
  const Model model = three_in_a_row();
  const Plan plan = plan_of(model.graph, Scripted([](ScheduleContext& ctx) {
                              const ReadyOp first = ready(ctx, "first", 0);
                              ctx.execute({first, ctx.get_ready_after({first}).front()},
                                          {.replace_func = Replacement{"fused"}});
                            }));
  std::vector<std::string> names;
  for (const Operand& operand : plan.operands(plan.steps.front())) {
    names.push_back(model.graph.value(operand.value).name);
  }
  EXPECT_THAT(names, ElementsAre("x", "v"));
}

TEST(Plan, LetsTheFirstPartOfASumOverwrite) {
  const Model model = with_sum();
  const Plan plan = plan_of(model.graph, Sequential(3), {{2, 2, 2}});
  std::vector<Access> accesses;
  for (const Operand& operand : plan.step_operands) {
    const bool sum = model.graph.value(operand.value).type.kind == Kind::kPartial;
    if (sum && operand.access != Access::kRead) accesses.push_back(operand.access);
  }
  EXPECT_THAT(accesses, ElementsAre(Access::kWrite, Access::kAccumulate, Access::kAccumulate));
}

TEST(HappensBefore, FollowsALane) {
  const Model model = three_in_a_row();
  const Plan plan = plan_of(model.graph, Sequential(2));
  EXPECT_TRUE(HappensBefore::of(plan, model.graph)->before(StepId{0}, StepId{5}));
}

TEST(HappensBefore, FollowsAWait) {
  const Model model = two_layers();
  const Plan plan = plan_of(model.graph, Leapfrog(2));
  EXPECT_TRUE(HappensBefore::of(plan, model.graph)->before(StepId{0}, StepId{2}));
}

TEST(HappensBefore, LeavesIndependentLanesUnordered) {
  const Model model = two_branches();
  const Plan plan = plan_of(model.graph, Branches(2), {{8}});
  EXPECT_FALSE(HappensBefore::of(plan, model.graph)->ordered(StepId{0}, StepId{1}));
}

TEST(HappensBefore, IsNotReflexive) {
  const Model model = three_in_a_row();
  const Plan plan = plan_of(model.graph, Sequential(2));
  EXPECT_FALSE(HappensBefore::of(plan, model.graph)->before(StepId{0}, StepId{0}));
}

}  // namespace
}  // namespace dynaflow::testing
