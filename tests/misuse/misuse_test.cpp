// What can go wrong in a strategy or around it. Each ends in its rule's error or in the right
// answer: never in a hang, never silently wrong.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <stdexcept>
#include <thread>
#include <vector>

#include "dynaflow/dynaflow.h"
#include "support/findings.h"
#include "support/models.h"
#include "support/scripted.h"

namespace dynaflow::testing {
namespace {

const Batch kEight{.rows = 8};

/// A loop that would never end ends here: a test that gets this far has found a hang.
constexpr int kForever = 100'000;

auto run(const Model& model, const Recorder& recorder, const Batch& batch = kEight) {
  return output_of(model, scripted(recorder), batch);
}

/// Executes `count` ops, always the first that is ready.
void execute_some(ScheduleContext& ctx, int count) {
  for (int i = 0; i < count; ++i) ctx.execute(ctx.get_ready_ops().front());
}

TEST(Misuse, SkippingTheLastOpIsRefused) {
  EXPECT_THAT(run(three_in_a_row(), [](ScheduleContext& ctx) { execute_some(ctx, 5); }),
              RefusedSaying(kNeverRun, "third was not executed on microbatch 1"));
}

TEST(Misuse, RunningTheLastOpTwiceIsRefused) {
  EXPECT_THAT(run(three_in_a_row(),
                  [](ScheduleContext& ctx) {
                    execute_some(ctx, 5);
                    const ReadyOp last = ready(ctx, "third");
                    ctx.execute(last);
                    ctx.execute(last);
                  }),
              RefusedSaying(kRunTwice, "third on microbatch 1"));
}

TEST(Misuse, ReturningEarlyIsRefused) {
  EXPECT_THAT(run(three_in_a_row(), [](ScheduleContext& ctx) { execute_some(ctx, 2); }),
              RefusedSaying(kNeverRun, "second was not executed on microbatches 0, 1"));
}

TEST(Misuse, ReturningAtOnceIsRefused) {
  EXPECT_THAT(run(three_in_a_row(), [](ScheduleContext&) {}),
              RefusedSaying(kNeverRun, "first was not executed on microbatches 0, 1"));
}

/// Sixteen ops that read x, and one that reads them all.
Model wide() {
  GraphBuilder builder("wide");
  const ValueId x = builder.input("x", kRow);
  const ValueId y = builder.value("y", kRow);
  std::vector<ValueId> parts;
  for (int i = 0; i < 16; ++i) {
    const std::string name = "part" + std::to_string(i);
    parts.push_back(builder.value(name, kRow));
    builder.op({.name = name, .reads = {x}, .writes = {parts.back()}, .kernel = mix(i)});
  }
  builder.op({.name = "join", .reads = parts, .writes = {y}, .kernel = mix(99)});
  builder.output(y);
  return {builder.build().value(), x, y};
}

TEST(Misuse, TakingManyOpsAheadGivesTheRightAnswer) {
  const Model model = wide();
  EXPECT_EQ(run(model,
                [](ScheduleContext& ctx) {
                  const auto taken = ctx.get_ready_ops();  // 32 of them
                  for (auto op = taken.rbegin(); op != taken.rend(); ++op) ctx.execute(*op);
                  finish(ctx);
                }),
            plain_output(model, kEight));
}

TEST(Misuse, AskingAfterTheEndGivesTheRightAnswer) {
  const Model model = three_in_a_row();
  EXPECT_EQ(run(model,
                [](ScheduleContext& ctx) {
                  finish(ctx);
                  for (int i = 0; i < 100; ++i) (void)ctx.get_ready_ops();
                }),
            plain_output(model, kEight));
}

TEST(Misuse, SkippingAMiddleOpIsRefused) {
  EXPECT_THAT(run(three_in_a_row(),
                  [](ScheduleContext& ctx) {
                    const auto first = ctx.get_ready_ops(Microbatch{0});
                    const auto second = ctx.get_ready_after(first);
                    ctx.execute(first);
                    ctx.execute(ctx.get_ready_after({first.front(), second.front()}));
                  }),
              RefusedSaying(kNeverRun, "second was not executed on microbatches 0, 1"));
}

TEST(Misuse, ReversingTheOrderIsRefused) {
  EXPECT_THAT(run(three_in_a_row(),
                  [](ScheduleContext& ctx) {
                    const auto first = ctx.get_ready_ops();
                    const auto second = ctx.get_ready_after(first);
                    ctx.execute(second);
                    ctx.execute(first);
                    finish(ctx);
                  }),
              RefusedSaying(kNotReady, "second on microbatch 0 was executed before first"));
}

TEST(Misuse, TwoOpsInOneExecuteGiveTheRightAnswer) {
  const Model model = two_branches();
  EXPECT_EQ(run(model,
                [](ScheduleContext& ctx) {
                  for (const Microbatch mb : ctx.microbatches()) ctx.execute(ctx.get_ready_ops(mb));
                  finish(ctx);
                }),
            plain_output(model, kEight));
}

TEST(Misuse, RunningAnOpTwiceIsRefused) {
  EXPECT_THAT(run(three_in_a_row(),
                  [](ScheduleContext& ctx) {
                    const ReadyOp first = ready(ctx, "first", 0);
                    ctx.execute(first);
                    ctx.execute(first);
                    finish(ctx);
                  }),
              RefusedBy(kRunTwice));
}

TEST(Misuse, AForgedHandleIsRefused) {
  EXPECT_THAT(run(three_in_a_row(),
                  [](ScheduleContext& ctx) {
                    ctx.execute(ReadyOp{});
                    finish(ctx);
                  }),
              RefusedBy(kUnknownOp));
}

TEST(Misuse, AHandleKeptAcrossRecordingsIsRefused) {
  const Model model = three_in_a_row();
  std::vector<ReadyOp> kept;
  const auto strategy = scripted([&](ScheduleContext& ctx) {
    if (kept.empty()) kept = ctx.get_ready_ops();
    for (const ReadyOp& op : kept) ctx.execute(op);
    finish(ctx);
  });
  ASSERT_THAT(output_of(model, strategy, kEight), Works());
  EXPECT_THAT(output_of(model, strategy, kEight), RefusedSaying(kStaleHandle, "first"));
}

TEST(Misuse, ALaneKeptAcrossRecordingsIsRefused) {
  const Model model = three_in_a_row();
  std::unique_ptr<Lane> kept;
  const auto strategy = scripted([&](ScheduleContext& ctx) {
    if (!kept) kept = std::make_unique<Lane>(ctx.lane("compute"));
    finish(ctx, {.lane = *kept});
  });
  ASSERT_THAT(output_of(model, strategy, kEight), Works());
  EXPECT_THAT(output_of(model, strategy, kEight), RefusedBy(kNoProgress));
}

/// three_in_a_row with `second` replaced by a kernel that states this output type.
auto run_replaced(const Type& output) {
  return run(three_in_a_row(), [output](ScheduleContext& ctx) {
    ctx.execute(ready(ctx, "first", 0));
    ctx.execute(ready(ctx, "second", 0),
                {.replace_func = Replacement{"fast", {kRow}, {output}, mix(2)}});
    finish(ctx);
  });
}

TEST(Misuse, AReplacementThatReturnsOneBroadcastableRowIsRefused) {
  EXPECT_THAT(run_replaced(kTable), RefusedSaying(kIllegalReplace, "whole i64[3]"));
}

TEST(Misuse, AReplacementThatReturnsAWrongDtypeIsRefused) {
  EXPECT_THAT(run_replaced({Kind::kSplit, DType::kF64, kColumns}),
              RefusedSaying(kIllegalReplace, "split f64[rows, 3]"));
}

TEST(Misuse, AReplacementThatReturnsTooFewElementsIsRefused) {
  EXPECT_THAT(run_replaced({Kind::kSplit, DType::kI64, kColumns - 1}),
              RefusedSaying(kIllegalReplace, "split i64[rows, 2]"));
}

TEST(Misuse, AReplacementThatReturnsTheRightTypeGivesTheRightAnswer) {
  EXPECT_EQ(run_replaced(kRow), plain_output(three_in_a_row(), kEight));
}

auto run_split(const Model& model, const Split& split) {
  return output_of(
      model,
      scripted([](ScheduleContext& ctx) { finish(ctx); }, [=](const Batch&) { return split; }),
      kEight);
}

TEST(Misuse, ASplitThatLosesRowsIsRefused) {
  EXPECT_THAT(run_split(three_in_a_row(), {{4, 3}}), RefusedBy(kBatchNotCovered));
}

TEST(Misuse, ASplitThatRepeatsRowsIsRefused) {
  EXPECT_THAT(run_split(three_in_a_row(), {{4, 4, 4}}), RefusedBy(kBatchNotCovered));
}

TEST(Misuse, ASplitIntoNothingIsRefused) {
  EXPECT_THAT(run_split(three_in_a_row(), {}), RefusedBy(kBatchNotCovered));
}

TEST(Misuse, ASplitThatThrowsIsRefused) {
  const auto strategy =
      scripted([](ScheduleContext& ctx) { finish(ctx); },
               [](const Batch&) -> Split { throw std::runtime_error("no idea"); });
  EXPECT_THAT(output_of(three_in_a_row(), strategy, kEight),
              RefusedSaying(kStrategyFailed, "no idea"));
}

TEST(Misuse, UnevenAndEmptyMicrobatchesGiveTheRightAnswer) {
  EXPECT_EQ(run_split(two_layers(), {{0, 7, 0, 1}}), plain_output(two_layers(), kEight));
}

TEST(Misuse, AnOpThatMixesRowsGivesTheRightAnswer) {
  EXPECT_EQ(run_split(with_mean(), {{3, 5}}), plain_output(with_mean(), kEight));
}

TEST(Misuse, ASumOverTheBatchGivesTheRightAnswer) {
  EXPECT_EQ(run_split(with_sum(), {{3, 5}}), plain_output(with_sum(), kEight));
}

/// The output is a sum over the batch: it has no rows.
Model with_output_without_rows() {
  GraphBuilder builder("loss");
  const ValueId x = builder.input("x", kRow);
  const ValueId y = builder.value("y", {Kind::kPartial, DType::kI64, kColumns});
  builder.op({.name = "loss", .reads = {x}, .writes = {y}, .kernel = sum_rows});
  builder.output(y);
  return {builder.build().value(), x, y};
}

TEST(Misuse, AnOutputWithoutABatchGivesTheRightAnswer) {
  const Model model = with_output_without_rows();
  EXPECT_EQ(run_split(model, {{3, 5}}), plain_output(model, kEight));
}

/// Row i of the output is row n - 1 - i of the input.
void reverse_rows(const KernelArgs& args) {
  for (std::int64_t row = 0; row < args.out(0).rows; ++row) {
    const auto from = args.in(0).row<std::int64_t>(args.in(0).rows - 1 - row);
    std::ranges::copy(from, args.out(0).row<std::int64_t>(row).begin());
  }
}

Model with_output_of_other_rows() {
  GraphBuilder builder("reversed");
  const ValueId x = builder.input("x", kRow);
  const ValueId y = builder.value("y", {Kind::kCoupled, DType::kI64, kColumns});
  builder.op({.name = "reverse", .reads = {x}, .writes = {y}, .kernel = reverse_rows});
  builder.output(y);
  return {builder.build().value(), x, y};
}

TEST(Misuse, AnOutputWhoseRowsAreNotTheBatchsGivesTheRightAnswer) {
  const Model model = with_output_of_other_rows();
  EXPECT_EQ(run_split(model, {{3, 5}}), plain_output(model, kEight));
}

TEST(Misuse, TwoGraphsUnderOneStrategyGiveTheRightAnswers) {
  const Model one = three_in_a_row();
  const Model other = with_sum();
  CpuDevice cpu;
  const auto strategy = std::make_shared<Leapfrog>();
  CompiledGraph first(one.graph, strategy, cpu);
  CompiledGraph second(other.graph, strategy, cpu);
  EXPECT_EQ(run_once(first, one, kEight), plain_output(one, kEight));
  EXPECT_EQ(run_once(second, other, kEight), plain_output(other, kEight));
  EXPECT_EQ(run_once(first, one, kEight), plain_output(one, kEight));
}

/// Throws in its middle op while `fail` says so.
Model fragile(const std::shared_ptr<std::atomic<bool>>& fail) {
  GraphBuilder builder("fragile");
  const ValueId x = builder.input("x", kRow);
  const ValueId u = builder.value("u", kRow);
  const ValueId y = builder.value("y", kRow);
  builder.op({.name = "first", .reads = {x}, .writes = {u}, .kernel = mix(1)});
  builder.op({.name = "second", .reads = {u}, .writes = {y}, .kernel = [=](const KernelArgs& args) {
                if (fail->load()) throw std::runtime_error("no luck");
                mix(2)(args);
              }});
  builder.output(y);
  return {builder.build().value(), x, y};
}

TEST(Misuse, AFailedStepIsReportedByName) {
  EXPECT_THAT(output_of(fragile(std::make_shared<std::atomic<bool>>(true)),
                        std::make_shared<Sequential>(2), kEight),
              RefusedSaying(kBodyFailed, "second on microbatch 0"));
}

TEST(Misuse, AStepAfterAFailedStepGivesTheRightAnswer) {
  const auto fail = std::make_shared<std::atomic<bool>>(true);
  const Model model = fragile(fail);
  CpuDevice cpu;
  CompiledGraph compiled(model.graph, std::make_shared<Branches>(2, 2), cpu);
  ASSERT_THAT(run_once(compiled, model, kEight), RefusedBy(kBodyFailed));
  fail->store(false);
  EXPECT_EQ(run_once(compiled, model, {.rows = 5}), plain_output(model, {.rows = 5}));
}

TEST(Misuse, TwoThreadsOnOneCompiledGraphGiveTheRightAnswersOfEveryStep) {
  constexpr int kSteps = 200;
  const Model model = two_layers();
  CpuDevice cpu;
  CompiledGraph compiled(model.graph, std::make_shared<Leapfrog>(), cpu);
  std::atomic<int> right{0};
  const auto work = [&](std::int64_t first_rows) {
    for (int i = 0; i < kSteps; ++i) {
      const Batch batch{.rows = first_rows + i % 3};
      const auto y = run_once(compiled, model, batch);
      if (y && *y == plain_output(model, batch)) ++right;
    }
  };
  std::thread other(work, 9);
  work(2);
  other.join();
  EXPECT_EQ(right.load(), 2 * kSteps);
}

TEST(Misuse, MergingMicrobatchesGivesTheRightAnswer) {
  const Model model = three_in_a_row();
  EXPECT_EQ(run(model,
                [](ScheduleContext& ctx) {
                  execute_some(ctx, 2);
                  ctx.execute(ctx.get_ready_ops());  // second on both, at once
                  finish(ctx);
                }),
            plain_output(model, kEight));
}

/// What becomes of a strategy that does this again and again.
std::vector<Diagnostic> judge_loop(const std::function<void(ScheduleContext&)>& again) {
  const Model model = three_in_a_row();
  const Scripted strategy([&](ScheduleContext& ctx) {
    finish(ctx);
    for (int i = 0; i < kForever; ++i) again(ctx);
  });
  return verify(model.graph, record(model.graph, strategy, Split{{4, 4}}));
}

MATCHER(IsStopped, "is stopped by S9") {
  for (const Diagnostic& finding : arg) {
    if (finding.rule.id == kNoProgress.id) return true;
  }
  return false;
}

TEST(EndlessLoop, OfAskingWhatIsReadyIsStopped) {
  EXPECT_THAT(judge_loop([](ScheduleContext& ctx) { (void)ctx.get_ready_ops(); }), IsStopped());
}

TEST(EndlessLoop, OfAskingOneMicrobatchIsStopped) {
  EXPECT_THAT(judge_loop([](ScheduleContext& ctx) { (void)ctx.get_ready_ops(Microbatch{0}); }),
              IsStopped());
}

TEST(EndlessLoop, OfAskingWhatComesAfterIsStopped) {
  EXPECT_THAT(judge_loop([](ScheduleContext& ctx) { (void)ctx.get_ready_after({}); }), IsStopped());
}

TEST(EndlessLoop, OfAskingWhetherAnythingIsLeftIsStopped) {
  EXPECT_THAT(judge_loop([](ScheduleContext& ctx) { (void)ctx.unfinished(); }), IsStopped());
}

TEST(EndlessLoop, OfAskingForRowsIsStopped) {
  EXPECT_THAT(judge_loop([](ScheduleContext& ctx) { (void)ctx.rows(Microbatch{0}); }), IsStopped());
}

TEST(EndlessLoop, OfAskingForALaneIsStopped) {
  EXPECT_THAT(judge_loop([](ScheduleContext& ctx) { ctx.lane("compute"); }), IsStopped());
}

TEST(EndlessLoop, OfExecutingNothingIsStopped) {
  EXPECT_THAT(judge_loop([](ScheduleContext& ctx) { ctx.execute(std::vector<ReadyOp>{}); }),
              IsStopped());
}

TEST(EndlessLoop, OfExecutingAForgedOpIsStopped) {
  EXPECT_THAT(judge_loop([](ScheduleContext& ctx) { ctx.execute(ReadyOp{}); }), IsStopped());
}

TEST(EndlessLoop, OfExecutingTheSameOpIsStopped) {
  const Model model = three_in_a_row();
  const Scripted strategy([&](ScheduleContext& ctx) {
    const ReadyOp first = ready(ctx, "first", 0);
    for (int i = 0; i < kForever; ++i) ctx.execute(first);
  });
  EXPECT_THAT(verify(model.graph, record(model.graph, strategy, Split{{4, 4}})), IsStopped());
}

TEST(EndlessLoop, OfWaitingForAnOpThatIsNeverReadyIsStopped) {
  const Model model = with_mean();
  const Scripted strategy([&](ScheduleContext& ctx) {
    ctx.execute(ready(ctx, "pre", 0));
    for (int i = 0; i < kForever && ready(ctx, "mean").id() != OpId{1}; ++i) continue;
  });
  EXPECT_THAT(verify(model.graph, record(model.graph, strategy, Split{{4, 4}})), IsStopped());
}

}  // namespace
}  // namespace dynaflow::testing
