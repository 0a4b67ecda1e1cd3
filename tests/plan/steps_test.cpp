// Plans whose steps are no steps of the graph, broken by hand: rule P4.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "dynaflow/plan/verify.h"
#include "dynaflow/schedule/op_scheduler.h"
#include "dynaflow/strategies/strategies.h"
#include "support/findings.h"
#include "support/models.h"
#include "support/random_strategy.h"
#include "support/scripted.h"

namespace dynaflow::testing {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::IsEmpty;

/// A plan of two_branches on two lanes, for a test to break: left | right, then join.
class RuleP4 : public ::testing::Test {
 protected:
  [[nodiscard]] std::vector<Diagnostic> judge() const { return verify_steps(model_.graph, plan); }
  [[nodiscard]] Step& join() { return plan.steps.back(); }

 private:
  Model model_ = two_branches();

 protected:
  Plan plan = make_plan(model_.graph, record(model_.graph, Branches(2), Split{{4}}));
};

auto refused(const std::string& text) {
  return Contains(AllOf(Broke(kBadStep), Says(text), At("Branches")));
}

TEST_F(RuleP4, AcceptsWhatMakePlanMakes) { EXPECT_THAT(judge(), IsEmpty()); }

TEST_F(RuleP4, RefusesSwappedOperands) {
  const std::uint32_t first = join().operands.first;
  std::swap(plan.step_operands.at(first).value, plan.step_operands.at(first + 1).value);
  EXPECT_THAT(judge(), refused("join on microbatch 0 has other operands than its ops"));
}

TEST_F(RuleP4, RefusesAWriteAsARead) {
  plan.step_operands.at(join().operands.first).access = Access::kUpdate;
  EXPECT_THAT(judge(), refused("join on microbatch 0 does not name its reads first"));
}

TEST_F(RuleP4, RefusesAnOpThatIsNotThere) {
  plan.step_ops.at(0) = OpId{99};
  EXPECT_THAT(judge(), refused("step 0 names an op, a value or a lane that is not there"));
}

TEST_F(RuleP4, RefusesAValueThatIsNotThere) {
  plan.step_operands.at(0).value = ValueId{99};
  EXPECT_THAT(judge(), refused("step 0 names an op, a value or a lane that is not there"));
}

TEST_F(RuleP4, RefusesMicrobatchesThatAreNotThere) {
  plan.steps.at(0).microbatches = {0, 5'000'000};
  EXPECT_THAT(judge(), refused("step 0 is on microbatches that are not there"));
}

TEST_F(RuleP4, RefusesAStepOnNoMicrobatch) {
  plan.steps.at(0).microbatches = {1, 1};
  EXPECT_THAT(judge(), refused("step 0 is on microbatches that are not there"));
}

TEST_F(RuleP4, RefusesALaneThatIsNotThere) {
  plan.steps.at(0).lane = LaneId{99};
  EXPECT_THAT(judge(), refused("step 0 is on a lane that is not there"));
}

TEST_F(RuleP4, RefusesAWaitForALaneThatIsNotThere) {
  plan.step_waits.at(join().waits.first).lane = 99;
  EXPECT_THAT(judge(), refused("names an op, a value or a lane that is not there"));
}

TEST_F(RuleP4, RefusesAListThatEndsTooEarly) {
  plan.step_operands.pop_back();
  EXPECT_THAT(judge(), refused("points outside the plan's lists"));
}

TEST_F(RuleP4, RefusesAPositionThatIsWrong) {
  join().position = 0;
  EXPECT_THAT(judge(), refused("join on microbatch 0 is not where its lane lists it"));
}

TEST_F(RuleP4, RefusesAStepThatIsListedTwice) {
  plan.lane_steps.at(0).push_back(plan.lane_steps.at(0).front());
  EXPECT_THAT(judge(), refused("left on microbatch 0 is listed more than once"));
}

TEST_F(RuleP4, RefusesAStepThatIsNotThere) {
  plan.lane_steps.at(0).push_back(StepId{99});
  EXPECT_THAT(judge(), refused("a lane lists a step that is not there"));
}

TEST_F(RuleP4, RefusesAReplacementThatIsNotThere) {
  join().replacement = 7;
  EXPECT_THAT(judge(), refused("a replacement that is not there"));
}

TEST_F(RuleP4, RefusesALaneWithoutAList) {
  plan.lane_steps.pop_back();
  EXPECT_THAT(judge(), refused("not one list of steps per lane"));
}

/// three_in_a_row with its first two ops replaced by one kernel.
Plan with_chain(const Graph& graph) {
  const Scripted strategy([](ScheduleContext& ctx) {
    const ReadyOp first = ready(ctx, "first", 0);
    ctx.execute({first, ctx.get_ready_after({first}).front()},
                {.replace_func = Replacement{"fused", {kRow}, {kRow}, mix(1)}});
    finish(ctx);
  });
  return make_plan(graph, record(graph, strategy, Split{{4}}));
}

TEST(RuleP4OfChains, AcceptsWhatMakePlanMakes) {
  const Model model = three_in_a_row();
  EXPECT_THAT(verify_steps(model.graph, with_chain(model.graph)), IsEmpty());
}

TEST(RuleP4OfChains, RefusesAChainWithoutItsResult) {
  const Model model = three_in_a_row();
  Plan plan = with_chain(model.graph);
  plan.steps.front().operands.count -= 1;
  EXPECT_THAT(verify_steps(model.graph, plan),
              Contains(AllOf(Broke(kBadStep), Says("has other operands than its ops"))));
}

TEST(RuleP4OfChains, RefusesAChainWithoutItsInput) {
  const Model model = three_in_a_row();
  Plan plan = with_chain(model.graph);
  plan.steps.front().operands = {plan.steps.front().operands.first + 1, 1};
  plan.steps.front().reads = 0;
  EXPECT_THAT(verify_steps(model.graph, plan),
              Contains(AllOf(Broke(kBadStep), Says("has other operands than its ops"))));
}

TEST(RuleP4OfChains, RefusesAChainWithoutAReplacement) {
  const Model model = three_in_a_row();
  Plan plan = with_chain(model.graph);
  plan.steps.front().replacement = kNoReplacement;
  EXPECT_THAT(verify_steps(model.graph, plan),
              Contains(AllOf(Broke(kBadStep), Says("step 0 has several ops"))));
}

TEST(RuleP4OfRandomPlans, AcceptsWhatMakePlanMakes) {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    Random random(seed);
    const RandomGraph made = random_graph(random, static_cast<int>(pick(random, 2, 14)));
    const RandomStrategy strategy(made.graph, seed);
    const Split split = strategy.split({.rows = pick(random, 0, 14)});
    const Plan plan = make_plan(made.graph, record(made.graph, strategy, split));
    ASSERT_THAT(verify_steps(made.graph, plan), IsEmpty()) << "seed " << seed;
  }
}

}  // namespace
}  // namespace dynaflow::testing
