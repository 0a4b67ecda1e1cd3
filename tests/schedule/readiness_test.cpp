#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "dynaflow/schedule/schedule_context.h"
#include "support/models.h"
#include "support/scripted.h"

namespace dynaflow::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

const Split kHalves{{4, 4}};

/// "mean.0-1": an op with the micro-batches it is offered on.
std::string label(const ReadyOp& op) {
  const MicrobatchRange mbs = op.microbatches();
  const std::string first = op.name() + "." + std::to_string(mbs.first);
  return mbs.count() == 1 ? first : first + "-" + std::to_string(mbs.last - 1);
}

std::vector<std::string> labels(const std::vector<ReadyOp>& ops) {
  std::vector<std::string> found;
  for (const ReadyOp& op : ops) found.push_back(label(op));
  return found;
}

/// What is ready once these ops were executed, each on the micro-batches it was offered on.
std::vector<std::string> ready_after_executing(const Graph& graph,
                                               const std::vector<std::string>& done) {
  ScheduleContext ctx(graph, kHalves);
  for (const std::string& wanted : done) {
    for (const ReadyOp& op : ctx.get_ready_ops()) {
      if (label(op) == wanted) ctx.execute(op);
    }
  }
  return labels(ctx.get_ready_ops());
}

TEST(Readiness, StartsWithWhatReadsOnlyInputs) {
  EXPECT_THAT(ready_after_executing(three_in_a_row().graph, {}), ElementsAre("first.0", "first.1"));
}

TEST(Readiness, OffersAConsumerOnceItsProducerIsIssued) {
  EXPECT_THAT(ready_after_executing(three_in_a_row().graph, {"first.0"}),
              ElementsAre("first.1", "second.0"));
}

TEST(Readiness, KeepsMicrobatchesApart) {
  EXPECT_THAT(ready_after_executing(three_in_a_row().graph, {"first.1", "second.1"}),
              ElementsAre("first.0", "third.1"));
}

TEST(Readiness, OffersBranchesTogether) {
  const Model model = two_branches();
  ScheduleContext ctx(model.graph, kHalves);
  EXPECT_THAT(labels(ctx.get_ready_ops(Microbatch{0})), ElementsAre("left.0", "right.0"));
}

TEST(Readiness, OffersAJoinAfterItsLastBranch) {
  EXPECT_THAT(ready_after_executing(two_branches().graph, {"left.0", "right.0"}),
              ElementsAre("left.1", "right.1", "join.0"));
}

TEST(Readiness, HoldsAJoinBackWhileABranchIsMissing) {
  EXPECT_THAT(ready_after_executing(two_branches().graph, {"left.0", "left.1"}),
              ElementsAre("right.0", "right.1"));
}

TEST(Readiness, HoldsACoupledOpBackUntilAllMicrobatchesReachIt) {
  EXPECT_THAT(ready_after_executing(with_mean().graph, {"pre.0"}), ElementsAre("pre.1"));
}

TEST(Readiness, OffersACoupledOpOnceOnAllMicrobatches) {
  EXPECT_THAT(ready_after_executing(with_mean().graph, {"pre.0", "pre.1"}),
              ElementsAre("mean.0-1"));
}

TEST(Readiness, OffersACoupledOpInTheLowestMicrobatchsList) {
  const Model model = with_mean();
  ScheduleContext ctx(model.graph, kHalves);
  for (const ReadyOp& op : ctx.get_ready_ops()) ctx.execute(op);
  EXPECT_THAT(labels(ctx.get_ready_ops(Microbatch{0})), ElementsAre("mean.0-1"));
}

TEST(Readiness, LeavesACoupledOpOutOfTheOtherMicrobatchesLists) {
  const Model model = with_mean();
  ScheduleContext ctx(model.graph, kHalves);
  for (const ReadyOp& op : ctx.get_ready_ops()) ctx.execute(op);
  EXPECT_THAT(ctx.get_ready_ops(Microbatch{1}), IsEmpty());
}

TEST(Readiness, ReleasesEveryMicrobatchAfterACoupledOp) {
  EXPECT_THAT(ready_after_executing(with_mean().graph, {"pre.0", "pre.1", "mean.0-1"}),
              ElementsAre("scale.0", "scale.1"));
}

TEST(Readiness, OffersTheConsumerOfASumOnceEveryPartIsIssued) {
  EXPECT_THAT(ready_after_executing(with_sum().graph, {"pre.0", "pre.1", "sum.0", "sum.1"}),
              ElementsAre("use.0-1"));
}

TEST(Readiness, HoldsTheConsumerOfASumBackWhileAPartIsMissing) {
  EXPECT_THAT(ready_after_executing(with_sum().graph, {"pre.0", "pre.1", "sum.1"}),
              ElementsAre("sum.0"));
}

TEST(Readiness, OffersAnOpOverWholeValuesOnce) {
  GraphBuilder builder;
  const ValueId w = builder.input("w", kTable);
  const ValueId t = builder.value("t", kTable);
  builder.op({.name = "transpose", .reads = {w}, .writes = {t}});
  EXPECT_THAT(ready_after_executing(builder.build().value(), {}), ElementsAre("transpose.0-1"));
}

TEST(Readiness, OffersAnOpThatTouchesNothingOnce) {
  GraphBuilder builder;
  builder.op({.name = "tick"});
  EXPECT_THAT(ready_after_executing(builder.build().value(), {}), ElementsAre("tick.0-1"));
}

TEST(Readiness, HoldsAnOverwriteBackUntilTheReaderIsIssued) {
  GraphBuilder builder;
  const ValueId x = builder.input("x", kRow);
  const ValueId y = builder.value("y", kRow);
  builder.op({.name = "read", .reads = {x}, .writes = {y}});
  builder.op({.name = "overwrite", .updates = {x}});
  EXPECT_THAT(ready_after_executing(builder.build().value(), {"read.0"}),
              ElementsAre("read.1", "overwrite.0"));
}

TEST(Readiness, OffersTheReaderOfAnUnplacedValueOnItsMakersMicrobatches) {
  const Model model = with_unplaced();
  ScheduleContext ctx(model.graph, kHalves);
  ctx.execute(ctx.get_ready_ops());  // merged
  EXPECT_THAT(labels(ctx.get_ready_ops()), ElementsAre("gather.0-1"));
}

TEST(Readiness, IsASnapshot) {
  const Model model = three_in_a_row();
  ScheduleContext ctx(model.graph, kHalves);
  const auto before = ctx.get_ready_ops(Microbatch{0});
  ctx.execute(before.front());
  EXPECT_THAT(labels(before), ElementsAre("first.0"));
}

TEST(Readiness, OfAMicrobatchThatIsNotThereIsNothing) {
  const Model model = three_in_a_row();
  ScheduleContext ctx(model.graph, kHalves);
  EXPECT_THAT(ctx.get_ready_ops(Microbatch{2}), IsEmpty());
}

TEST(Readiness, OfAnEmptyMicrobatchIsAsOfAnyOther) {
  const Model model = three_in_a_row();
  const Split split{{8, 0}};
  ScheduleContext ctx(model.graph, split);
  EXPECT_THAT(labels(ctx.get_ready_ops(Microbatch{1})), ElementsAre("first.1"));
}

TEST(Readiness, EndsWithNothing) {
  const Model model = with_sum();
  ScheduleContext ctx(model.graph, kHalves);
  finish(ctx);
  EXPECT_THAT(ctx.get_ready_ops(), IsEmpty());
}

TEST(FirstReadyOp, IsTheFirstOfTheMicrobatchsReadyOps) {
  const Model model = two_branches();
  ScheduleContext ctx(model.graph, kHalves);
  while (ctx.unfinished()) {
    const Microbatch mb{ctx.get_ready_ops(Microbatch{1}).empty() ? 0U : 1U};
    const ReadyOp expected = ctx.get_ready_ops(mb).front();
    const ReadyOp first = ctx.first_ready_op(mb).value();
    ASSERT_EQ(label(first), label(expected));
    ctx.execute(first);
  }
}

TEST(FirstReadyOp, IsACoupledOpOnAllMicrobatches) {
  const Model model = with_mean();
  ScheduleContext ctx(model.graph, kHalves);
  for (const ReadyOp& op : ctx.get_ready_ops()) ctx.execute(op);
  EXPECT_EQ(label(ctx.first_ready_op(Microbatch{0}).value()), "mean.0-1");
}

TEST(FirstReadyOp, IsNoneWhereNothingIsReady) {
  const Model model = with_mean();
  ScheduleContext ctx(model.graph, kHalves);
  for (const ReadyOp& op : ctx.get_ready_ops()) ctx.execute(op);
  EXPECT_FALSE(ctx.first_ready_op(Microbatch{1}).has_value());
}

TEST(FirstReadyOp, OfAMicrobatchThatIsNotThereIsNone) {
  const Model model = three_in_a_row();
  ScheduleContext ctx(model.graph, kHalves);
  EXPECT_FALSE(ctx.first_ready_op(Microbatch{2}).has_value());
}

TEST(ReadyAfter, FindsTheNextMemberOfAChain) {
  const Model model = three_in_a_row();
  ScheduleContext ctx(model.graph, kHalves);
  EXPECT_THAT(labels(ctx.get_ready_after({ready(ctx, "first", 1)})), ElementsAre("second.1"));
}

TEST(ReadyAfter, FollowsAChainOfSeveral) {
  const Model model = three_in_a_row();
  ScheduleContext ctx(model.graph, kHalves);
  std::vector<ReadyOp> chain{ready(ctx, "first", 0)};
  chain.push_back(ctx.get_ready_after(chain).front());
  EXPECT_THAT(labels(ctx.get_ready_after(chain)), ElementsAre("third.0"));
}

TEST(ReadyAfter, FindsNothingWhileAnotherProducerIsMissing) {
  const Model model = two_branches();
  ScheduleContext ctx(model.graph, kHalves);
  EXPECT_THAT(ctx.get_ready_after({ready(ctx, "left", 0)}), IsEmpty());
}

TEST(ReadyAfter, CountsProducersThatAreIssued) {
  const Model model = two_branches();
  ScheduleContext ctx(model.graph, kHalves);
  ctx.execute(ready(ctx, "right", 0));
  EXPECT_THAT(labels(ctx.get_ready_after({ready(ctx, "left", 0)})), ElementsAre("join.0"));
}

TEST(ReadyAfter, FindsACoupledOpAfterAllMicrobatchesTogether) {
  const Model model = with_mean();
  ScheduleContext ctx(model.graph, kHalves);
  EXPECT_THAT(labels(ctx.get_ready_after(ctx.get_ready_ops())), ElementsAre("mean.0-1"));
}

TEST(ReadyAfter, DoesNotCountAnOpTwice) {
  const Model model = two_branches();
  ScheduleContext ctx(model.graph, kHalves);
  const ReadyOp left = ready(ctx, "left", 0);
  EXPECT_THAT(ctx.get_ready_after({left, left}), IsEmpty());
}

TEST(ReadyAfter, DoesNotCountAnOpThatIsIssued) {
  const Model model = two_branches();
  ScheduleContext ctx(model.graph, kHalves);
  const ReadyOp left = ready(ctx, "left", 0);
  ctx.execute(left);
  EXPECT_THAT(ctx.get_ready_after({left}), IsEmpty());
}

TEST(ReadyAfter, ChangesNothing) {
  const Model model = three_in_a_row();
  ScheduleContext ctx(model.graph, kHalves);
  (void)ctx.get_ready_after(ctx.get_ready_ops());
  EXPECT_THAT(labels(ctx.get_ready_ops()), ElementsAre("first.0", "first.1"));
}

TEST(ReadyOp, HasNoNameWhereItIsNone) { EXPECT_EQ(ReadyOp().name(), ""); }

TEST(ReadyOp, ShowsItsTags) {
  const Model model = two_layers();
  ScheduleContext ctx(model.graph, kHalves);
  ctx.execute(ready(ctx, "attn0"));
  EXPECT_THAT(ready(ctx, "reduce0").tags(), ElementsAre("network"));
}

TEST(ReadyOp, ShowsItsCost) {
  const Model model = two_layers();
  ScheduleContext ctx(model.graph, kHalves);
  ctx.execute(ready(ctx, "attn0"));
  EXPECT_EQ(ready(ctx, "reduce0").cost(), CostClass::kNetwork);
}

TEST(ScheduleContext, IsUnfinishedWhileAnOpIsLeft) {
  const Model model = three_in_a_row();
  ScheduleContext ctx(model.graph, kHalves);
  EXPECT_TRUE(ctx.unfinished());
}

TEST(ScheduleContext, IsFinishedWhenEveryOpIsIssued) {
  const Model model = with_mean();
  ScheduleContext ctx(model.graph, kHalves);
  finish(ctx);
  EXPECT_FALSE(ctx.unfinished());
}

TEST(ScheduleContext, KnowsTheRowsOfAMicrobatch) {
  const Model model = three_in_a_row();
  const Split split{{5, 3}};
  ScheduleContext ctx(model.graph, split);
  EXPECT_EQ(ctx.rows(Microbatch{1}), 3);
}

}  // namespace
}  // namespace dynaflow::testing
