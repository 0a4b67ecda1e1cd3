// Which waits a plan has: those that data demands and nothing else implies.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <string>
#include <vector>

#include "dynaflow/plan/plan.h"
#include "dynaflow/schedule/op_scheduler.h"
#include "support/models.h"
#include "support/scripted.h"

namespace dynaflow::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

/// Where each op of each micro-batch goes: "lane op.mb", in order. Merged: "lane op.0-1".
using Script = std::vector<std::string>;

std::string label(const ReadyOp& op) {
  return op.name() + "." + std::to_string(op.microbatches().first);
}

void follow(ScheduleContext& ctx, const Script& script) {
  for (const std::string& line : script) {
    const Lane lane = ctx.lane(line.substr(0, line.find(' ')));
    const std::string wanted = line.substr(line.find(' ') + 1);
    const bool merged = wanted.find('-') != std::string::npos;
    std::vector<ReadyOp> ops;
    for (const ReadyOp& op : ctx.get_ready_ops()) {
      const bool same =
          merged ? op.name() == wanted.substr(0, wanted.find('.')) : label(op) == wanted;
      if (same) ops.push_back(op);
    }
    ctx.execute(ops, {.lane = lane});
  }
}

/// The steps of a plan, each with the steps it waits for: "use.1 <make.1".
std::vector<std::string> steps_of(const Graph& graph, const Recorder& recorder,
                                  const Split& split = {{4, 4}}) {
  const Plan plan = make_plan(graph, record(graph, Scripted(recorder), split));
  std::vector<std::string> steps;
  for (const Step& step : plan.steps) {
    std::string text = dynaflow::label(graph, plan, step);
    for (const Wait& wait : plan.waits(step)) {
      const StepId before = plan.lane_steps[wait.lane][wait.count - 1];
      text += " <" + dynaflow::label(graph, plan, plan.steps[before.index]);
    }
    steps.push_back(text);
  }
  return steps;
}

std::vector<std::string> steps_of(const Graph& graph, const Script& script,
                                  const Split& split = {{4, 4}}) {
  return steps_of(graph, [&](ScheduleContext& ctx) { follow(ctx, script); }, split);
}

TEST(Waits, AreNoneOnOneLane) {
  EXPECT_THAT(steps_of(three_in_a_row().graph, {"a first.0", "a second.0", "a third.0"}),
              ElementsAre("first.0", "second.0", "third.0"));
}

TEST(Waits, PutAReaderAfterItsWriterOnAnotherLane) {
  EXPECT_THAT(steps_of(three_in_a_row().graph, {"a first.0", "b second.0"}),
              ElementsAre("first.0", "second.0 <first.0"));
}

TEST(Waits, AreNoneBetweenMicrobatches) {
  EXPECT_THAT(steps_of(three_in_a_row().graph, {"a first.0", "b first.1", "b second.1"}),
              ElementsAre("first.0", "first.1", "second.1"));
}

TEST(Waits, AreNoneBetweenTwoReaders) {
  EXPECT_THAT(steps_of(two_branches().graph, {"a left.0", "b right.0"}),
              ElementsAre("left.0", "right.0"));
}

TEST(Waits, LeaveOutWhatTheLanesOrderImplies) {
  EXPECT_THAT(
      steps_of(three_in_a_row().graph, {"a first.0", "a first.1", "b second.1", "b second.0"}),
      ElementsAre("first.0", "first.1", "second.1 <first.1", "second.0"));
}

TEST(Waits, AreForEveryLaneThatMakesWhatIsRead) {
  EXPECT_THAT(steps_of(two_branches().graph, {"a left.0", "b right.0", "c left.1", "c join.0"}),
              ElementsAre("left.0", "right.0", "left.1", "join.0 <left.0 <right.0"));
}

/// x -> one -> u; x, u -> two -> v; u, v -> three
TEST(Waits, LeaveOutWhatFollowsThroughAThirdLane) {
  GraphBuilder builder;
  const ValueId x = builder.input("x", kRow);
  const ValueId u = builder.value("u", kRow);
  const ValueId v = builder.value("v", kRow);
  builder.op({.name = "one", .reads = {x}, .writes = {u}});
  builder.op({.name = "two", .reads = {u}, .writes = {v}});
  builder.op({.name = "three", .reads = {u, v}});
  EXPECT_THAT(steps_of(builder.build().value(), {"a one.0", "b two.0", "c three.0"}),
              ElementsAre("one.0", "two.0 <one.0", "three.0 <two.0"));
}

TEST(Waits, PutAnOverwriteAfterItsReaders) {
  GraphBuilder builder;
  const ValueId x = builder.input("x", kRow);
  const ValueId u = builder.value("u", kRow);
  builder.op({.name = "read", .reads = {x}, .writes = {u}});
  builder.op({.name = "overwrite", .writes = {x}});
  EXPECT_THAT(steps_of(builder.build().value(), {"a read.0", "b overwrite.0"}),
              ElementsAre("read.0", "overwrite.0 <read.0"));
}

TEST(Waits, PutAnOverwriteAfterTheWrite) {
  GraphBuilder builder;
  const ValueId x = builder.input("x", kRow);
  const ValueId u = builder.value("u", kRow);
  builder.op({.name = "one", .reads = {x}, .writes = {u}});
  builder.op({.name = "two", .reads = {x}, .writes = {u}});
  EXPECT_THAT(steps_of(builder.build().value(), {"a one.0", "b two.0"}),
              ElementsAre("one.0", "two.0 <one.0"));
}

TEST(Waits, PutAnInPlaceUpdateBetweenReaders) {
  GraphBuilder builder;
  const ValueId x = builder.input("x", kRow);
  const ValueId u = builder.value("u", kRow);
  const ValueId v = builder.value("v", kRow);
  builder.op({.name = "before", .reads = {x}, .writes = {u}});
  builder.op({.name = "relu", .updates = {x}});
  builder.op({.name = "after", .reads = {x}, .writes = {v}});
  EXPECT_THAT(steps_of(builder.build().value(), {"a before.0", "b relu.0", "a after.0"}),
              ElementsAre("before.0", "relu.0 <before.0", "after.0 <relu.0"));
}

TEST(Waits, AreNoneBetweenViewsOfDifferentBytes) {
  GraphBuilder builder;
  const ValueId x = builder.input("x", kRow);
  const ValueId u = builder.value("u", kRow);
  builder.op({.name = "one", .reads = {x}, .writes = {builder.view("l", u, 0, 1)}});
  builder.op({.name = "two", .reads = {x}, .writes = {builder.view("r", u, 1, 2)}});
  EXPECT_THAT(steps_of(builder.build().value(), {"a one.0", "b two.0"}),
              ElementsAre("one.0", "two.0"));
}

/// `write` and `read` of one state, on own rows or on all.
Graph with_state(Rows read_rows) {
  GraphBuilder builder;
  const StateId cache = builder.state("cache");
  const ValueId x = builder.input("x", kRow);
  const ValueId y = builder.value("y", kRow);
  builder.op({.name = "write", .reads = {x}, .effects = {{cache, Access::kUpdate, Rows::kOwn}}});
  builder.op({.name = "read",
              .reads = {x},
              .writes = {y},
              .effects = {{cache, Access::kRead, read_rows}}});
  return builder.build().value();
}

TEST(Waits, OnStateOfOwnRowsAreForTheSameMicrobatch) {
  EXPECT_THAT(steps_of(with_state(Rows::kOwn), {"a write.0", "b write.1", "c read.0"}),
              ElementsAre("write.0", "write.1", "read.0 <write.0"));
}

TEST(Waits, OnStateOfAllRowsAreForEveryMicrobatch) {
  EXPECT_THAT(steps_of(with_state(Rows::kAll), {"a write.0", "b write.1", "c read.0"}),
              ElementsAre("write.0", "write.1", "read.0 <write.0 <write.1"));
}

TEST(Waits, OfAMergedStepAreForEachOfItsMicrobatches) {
  EXPECT_THAT(steps_of(three_in_a_row().graph, {"a first.0", "b first.1", "c second.0-1"}),
              ElementsAre("first.0", "first.1", "second.0-1 <first.0 <first.1"));
}

TEST(Waits, OnAMergedStepAreTheSameForEach) {
  EXPECT_THAT(steps_of(three_in_a_row().graph, {"a first.0-1", "b second.1"}),
              ElementsAre("first.0-1", "second.1 <first.0-1"));
}

TEST(Waits, OfACoupledOpAreForEveryMicrobatch) {
  EXPECT_THAT(steps_of(with_mean().graph, {"a pre.0", "b pre.1", "c mean.0", "a scale.1"}),
              ElementsAre("pre.0", "pre.1", "mean.0-1 <pre.0 <pre.1", "scale.1 <mean.0-1"));
}

TEST(Waits, PutThePartsOfASumInRecordedOrder) {
  EXPECT_THAT(steps_of(with_sum().graph, {"a pre.0", "b pre.1", "b sum.1", "a sum.0"}),
              ElementsAre("pre.0", "pre.1", "sum.1", "sum.0 <sum.1"));
}

TEST(Waits, PutTheReaderOfASumAfterItsLastPart) {
  EXPECT_THAT(steps_of(with_sum().graph, {"a pre.0", "b pre.1", "b sum.1", "a sum.0", "b use.0-1"}),
              ElementsAre("pre.0", "pre.1", "sum.1", "sum.0 <sum.1", "use.0-1 <sum.0"));
}

TEST(Waits, IncludeAnOrderThatWasAdded) {
  EXPECT_THAT(steps_of(three_in_a_row().graph,
                       [](ScheduleContext& ctx) {
                         const IssuedStep before =
                             ctx.execute(ready(ctx, "first", 0), {.lane = ctx.lane("a")});
                         ctx.execute(ready(ctx, "first", 1),
                                     {.lane = ctx.lane("b"), .after = {before}});
                       }),
              ElementsAre("first.0", "first.1 <first.0"));
}

TEST(Waits, LeaveOutAnAddedOrderThatIsImplied) {
  EXPECT_THAT(steps_of(three_in_a_row().graph,
                       [](ScheduleContext& ctx) {
                         const IssuedStep before = ctx.execute(ready(ctx, "first", 0));
                         ctx.execute(ready(ctx, "first", 1), {.after = {before}});
                       }),
              ElementsAre("first.0", "first.1"));
}

TEST(Waits, LeaveOutAnAddedOrderAfterAnEmptyMicrobatch) {
  EXPECT_THAT(steps_of(
                  three_in_a_row().graph,
                  [](ScheduleContext& ctx) {
                    const IssuedStep before =
                        ctx.execute(ready(ctx, "first", 0), {.lane = ctx.lane("a")});
                    ctx.execute(ready(ctx, "first", 1), {.lane = ctx.lane("b"), .after = {before}});
                  },
                  Split{{0, 4}}),
              ElementsAre("first.1"));
}

/// Third after second after first, of which the second is left out.
TEST(Waits, FollowAnAddedOrderThroughAnEmptyMicrobatch) {
  EXPECT_THAT(steps_of(
                  three_in_a_row().graph,
                  [](ScheduleContext& ctx) {
                    const Lane lanes[] = {ctx.lane("a"), ctx.lane("b"), ctx.lane("c")};
                    const IssuedStep first =
                        ctx.execute(ready(ctx, "first", 0), {.lane = lanes[0]});
                    const IssuedStep second =
                        ctx.execute(ready(ctx, "first", 1), {.lane = lanes[1], .after = {first}});
                    ctx.execute(ready(ctx, "first", 2), {.lane = lanes[2], .after = {second}});
                  },
                  Split{{4, 0, 4}}),
              ElementsAre("first.0", "first.2 <first.0"));
}

TEST(EmptyMicrobatches, AreLeftOut) {
  EXPECT_THAT(steps_of(
                  three_in_a_row().graph, [](ScheduleContext& ctx) { finish(ctx); }, Split{{0, 4}}),
              ElementsAre("first.1", "second.1", "third.1"));
}

TEST(EmptyMicrobatches, AreLeftOutAltogetherInAnEmptyBatch) {
  EXPECT_THAT(steps_of(
                  three_in_a_row().graph, [](ScheduleContext& ctx) { finish(ctx); }, Split{{0, 0}}),
              IsEmpty());
}

TEST(EmptyMicrobatches, KeepTheirPlaceInAMergedStep) {
  EXPECT_THAT(steps_of(three_in_a_row().graph, {"a first.0-1"}, Split{{0, 4}}),
              ElementsAre("first.0-1"));
}

TEST(EmptyMicrobatches, KeepTheirCollectives) {
  EXPECT_THAT(steps_of(two_layers().graph, {"a attn0.0", "a attn0.1", "a reduce0.0", "a reduce0.1"},
                       Split{{0, 4}}),
              ElementsAre("attn0.1", "reduce0.0", "reduce0.1"));
}

TEST(EmptyMicrobatches, KeepTheirPartsOfASum) {
  EXPECT_THAT(
      steps_of(with_sum().graph, {"a pre.0", "a pre.1", "a sum.0", "a sum.1"}, Split{{0, 4}}),
      ElementsAre("pre.1", "sum.0", "sum.1"));
}

TEST(EmptyMicrobatches, KeepWhatRunsOncePerBatch) {
  EXPECT_THAT(steps_of(
                  with_mean().graph, [](ScheduleContext& ctx) { finish(ctx); }, Split{{0, 0}}),
              ElementsAre("mean.0-1"));
}

}  // namespace
}  // namespace dynaflow::testing
