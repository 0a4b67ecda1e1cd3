#include "dynaflow/runtime/program.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <numeric>
#include <thread>
#include <vector>

#include "dynaflow/dynaflow.h"
#include "runtime/prepared.h"
#include "support/findings.h"
#include "support/metered_device.h"
#include "support/scripted.h"

namespace dynaflow::testing {
namespace {

using ::testing::AllOf;
using ::testing::Each;
using ::testing::ElementsAre;

using Numbers = std::vector<std::int64_t>;

/// One op with this kernel: x -> y.
Model one_op(Kernel kernel) {
  GraphBuilder builder("one_op");
  const ValueId x = builder.input("x", kRow);
  const ValueId y = builder.value("y", kRow);
  builder.op({.name = "only", .reads = {x}, .writes = {y}, .kernel = std::move(kernel)});
  builder.output(y);
  return {builder.build().value(), x, y};
}

TEST(Program, GivesWhatThePlainModelGives) {
  const Model model = two_layers();
  CpuDevice cpu;
  Program program = prepare(model.graph, Leapfrog(3), Split{{3, 1, 2}}, cpu).value();
  EXPECT_EQ(run_rows(program, model, 6), plain_output(model, {.rows = 6}));
}

TEST(Program, GivesTheSameAgain) {
  const Model model = with_sum();
  CpuDevice cpu;
  Program program = prepare(model.graph, Branches(2, 3), Split{{3, 1, 2}}, cpu).value();
  const Numbers once = run_rows(program, model, 6).value();
  EXPECT_EQ(run_rows(program, model, 6), once);
}

TEST(Program, WithoutAKernelIsRefused) {
  GraphBuilder builder;
  builder.op({.name = "planned"});
  CpuDevice cpu;
  EXPECT_THAT(prepare(builder.build().value(), Sequential(), Split{{4}}, cpu),
              RefusedSaying(kBadBinding, "op 'planned' has no kernel"));
}

TEST(Program, NeedsNoKernelWhereItIsReplaced) {
  const Type row = kRow;
  const Scripted strategy([row](ScheduleContext& ctx) {
    ctx.execute(ctx.get_ready_ops(), {.replace_func = Replacement{"fast", {row}, {row}, mix(1)}});
  });
  CpuDevice cpu;
  EXPECT_THAT(prepare(one_op({}).graph, strategy, Split{{4}}, cpu), Works());
}

TEST(Program, TellsAKernelWhichRowsItHas) {
  const Model model = one_op([](const KernelArgs& args) {
    for (std::int64_t row = 0; row < args.rows.count; ++row) {
      for (std::int64_t& number : args.out(0).row<std::int64_t>(row)) {
        number = args.rows.first + row;
      }
    }
  });
  CpuDevice cpu;
  Program program = prepare(model.graph, Sequential(3), Split{{2, 0, 1}}, cpu).value();
  EXPECT_THAT(run_rows(program, model, 3).value(), ElementsAre(0, 0, 0, 1, 1, 1, 2, 2, 2));
}

TEST(Program, TellsAMergedKernelAllItsRows) {
  std::int64_t rows = 0;
  const Model model = one_op([&](const KernelArgs& args) { rows = args.rows.count; });
  CpuDevice cpu;
  const Scripted merged([](ScheduleContext& ctx) { ctx.execute(ctx.get_ready_ops()); });
  Program program = prepare(model.graph, merged, Split{{2, 3}}, cpu).value();
  ASSERT_THAT(run_rows(program, model, 5), Works());
  EXPECT_EQ(rows, 5);
}

TEST(Program, UpdatesAnInputInPlace) {
  GraphBuilder builder;
  const ValueId cache = builder.input("cache", {Kind::kSplit, DType::kI64, 1});
  builder.op({.name = "grow", .updates = {cache}, .kernel = [](const KernelArgs& args) {
                for (std::int64_t row = 0; row < args.rows.count; ++row) {
                  args.out(0).row<std::int64_t>(row)[0] += 10;
                }
              }});
  CpuDevice cpu;
  Program program = prepare(builder.build().value(), Sequential(2), Split{{2, 1}}, cpu).value();
  Numbers numbers{1, 2, 3};
  ASSERT_THAT(program.run(std::array{bind(cache, numbers)}), Works());
  EXPECT_THAT(numbers, ElementsAre(11, 12, 13));
}

TEST(Program, StartsASumOnceAndAddsTheRest) {
  std::vector<PartialSum> seen;
  GraphBuilder builder;
  const ValueId x = builder.input("x", kRow);
  const ValueId s = builder.value("s", {Kind::kPartial, DType::kI64, kColumns});
  builder.op({.name = "sum", .reads = {x}, .writes = {s}, .kernel = [&](const KernelArgs& args) {
                seen.push_back(args.out(0).sum);
              }});
  builder.output(s);
  const Model model{builder.build().value(), x, s};
  CpuDevice cpu;
  Program program = prepare(model.graph, Sequential(3), Split{{1, 1, 1}}, cpu).value();
  ASSERT_THAT(run_rows(program, model, 3), Works());
  EXPECT_THAT(seen, ElementsAre(PartialSum::kStart, PartialSum::kAdd, PartialSum::kAdd));
}

TEST(Program, StartsASumOverNoRows) {
  const Model model = with_sum();
  CpuDevice cpu;
  Program program = prepare(model.graph, Sequential(2), Split{{0, 3}}, cpu).value();
  EXPECT_EQ(run_rows(program, model, 3), plain_output(model, {.rows = 3}));
}

TEST(Program, RunsABatchWithoutRows) {
  const Model model = two_layers();
  CpuDevice cpu;
  Program program = prepare(model.graph, Leapfrog(2), Split{{0, 0}}, cpu).value();
  EXPECT_THAT(run_rows(program, model, 0), Works());
}

TEST(Program, CountsItsSteps) {
  const Model model = three_in_a_row();
  CpuDevice cpu;
  Program program = prepare(model.graph, Sequential(2), Split{{2, 2}}, cpu).value();
  Numbers x = input_for(4);
  Numbers y(x.size());
  EXPECT_EQ(program.run(std::array{bind(model.x, x), bind(model.y, y)})->steps, 6U);
}

TEST(Program, CountsTheWaitsOfItsPlan) {
  const Model model = two_layers();
  CpuDevice cpu;
  Program program = prepare(model.graph, Leapfrog(2), Split{{2, 2}}, cpu).value();
  Numbers x = input_for(4);
  Numbers y(x.size());
  EXPECT_EQ(program.run(std::array{bind(model.x, x), bind(model.y, y)})->waits,
            program.plan().step_waits.size());
}

TEST(Program, SaysHowMuchArenaItUsed) {
  const Model model = three_in_a_row();
  CpuDevice cpu;
  Program program = prepare(model.graph, Sequential(), Split{{4}}, cpu).value();
  Numbers x = input_for(4);
  Numbers y(x.size());
  EXPECT_EQ(program.run(std::array{bind(model.x, x), bind(model.y, y)})->arena_bytes, 2 * 128);
}

TEST(Program, NamesTheOpThatFailed) {
  const Model model = one_op(never);
  CpuDevice cpu;
  Program program = prepare(model.graph, Sequential(2), Split{{2, 2}}, cpu).value();
  EXPECT_THAT(run_rows(program, model, 4), RefusedSaying(kBodyFailed, "only on microbatch 0"));
}

TEST(Program, KeepsEveryLaneThatItsPlanAskedFor) {
  const Model model = two_layers();
  CpuDevice cpu;
  const Program program = prepare(model.graph, Leapfrog(2), Split{{2, 2}}, cpu).value();
  EXPECT_EQ(program.lanes()[1].requested, Share{.cores = 0});
}

TEST(ProgramCancel, EndsTheRun) {
  CpuDevice cpu;
  const Model model = one_op([&](const KernelArgs&) { cpu.cancel(); });
  Program program = prepare(model.graph, Sequential(2), Split{{2, 2}}, cpu).value();
  EXPECT_THAT(run_rows(program, model, 4), RefusedBy(kCancelled));
}

TEST(ProgramCancel, LeavesTheNextRunAlone) {
  CpuDevice cpu;
  int calls = 0;
  const Model model = one_op([&](const KernelArgs&) {
    if (++calls == 1) cpu.cancel();
  });
  Program program = prepare(model.graph, Sequential(2), Split{{2, 2}}, cpu).value();
  ASSERT_THAT(run_rows(program, model, 4), RefusedBy(kCancelled));
  EXPECT_THAT(run_rows(program, model, 4), Works());
}

TEST(ProgramReentry, IsRefusedForARunFromItsOwnBody) {
  CpuDevice cpu;
  std::optional<Program> program;
  Result<Stats> inner;
  const Model model = one_op([&](const KernelArgs&) { inner = program->run({}); });
  program = prepare(model.graph, Sequential(), Split{{4}}, cpu).value();
  ASSERT_THAT(run_rows(*program, model, 4), Works());
  EXPECT_THAT(inner, RefusedBy(kReentry));
}

TEST(ProgramReentry, IsRefusedOnEveryLane) {
  CpuDevice cpu;
  std::optional<Program> program;
  Result<Stats> inner;
  GraphBuilder builder;
  builder.op({.name = "idle", .kernel = [](const KernelArgs&) {}});
  builder.op({.name = "nested", .kernel = [&](const KernelArgs&) { inner = program->run({}); }});
  program = prepare(builder.build().value(), Branches(2), Split{{1}}, cpu).value();
  ASSERT_THAT(program->run({}), Works());
  EXPECT_THAT(inner, RefusedBy(kReentry));
}

TEST(ProgramReentry, IsRefusedForARebindFromItsOwnBody) {
  CpuDevice cpu;
  std::optional<Program> program;
  Result<void> inner;
  const Model model = one_op([&](const KernelArgs&) { inner = program->rebind(Split{{5}}); });
  program = prepare(model.graph, Sequential(), Split{{4}}, cpu).value();
  ASSERT_THAT(run_rows(*program, model, 4), Works());
  EXPECT_THAT(inner, RefusedBy(kReentry));
}

TEST(ProgramRebind, ServesOtherSizes) {
  const Model model = two_layers();
  CpuDevice cpu;
  Program program = prepare(model.graph, Leapfrog(2), Split{{2, 2}}, cpu).value();
  ASSERT_THAT(program.rebind(Split{{50, 7}}), Works());
  EXPECT_EQ(run_rows(program, model, 57), plain_output(model, {.rows = 57}));
}

TEST(ProgramRebind, ServesTheFirstSizesAgain) {
  const Model model = with_mean();
  CpuDevice cpu;
  Program program = prepare(model.graph, Leapfrog(2), Split{{2, 2}}, cpu).value();
  ASSERT_THAT(program.rebind(Split{{50, 7}}), Works());
  ASSERT_THAT(run_rows(program, model, 57), Works());
  ASSERT_THAT(program.rebind(Split{{2, 2}}), Works());
  EXPECT_EQ(run_rows(program, model, 4), plain_output(model, {.rows = 4}));
}

TEST(ProgramRebind, RefusesAnotherCount) {
  CpuDevice cpu;
  Program program = prepare(three_in_a_row().graph, Sequential(2), Split{{2, 2}}, cpu).value();
  EXPECT_THAT(program.rebind(Split{{2, 2, 2}}), RefusedSaying(kBadBinding, "2+2+2"));
}

TEST(ProgramRebind, RefusesOtherEmptyMicrobatches) {
  CpuDevice cpu;
  Program program = prepare(three_in_a_row().graph, Sequential(2), Split{{2, 2}}, cpu).value();
  EXPECT_THAT(program.rebind(Split{{4, 0}}), RefusedBy(kBadBinding));
}

TEST(ProgramRebind, RefusesNegativeSizes) {
  CpuDevice cpu;
  Program program = prepare(three_in_a_row().graph, Sequential(2), Split{{2, 2}}, cpu).value();
  EXPECT_THAT(program.rebind(Split{{8, -2}}), RefusedBy(kBadBinding));
}

TEST(ProgramRebind, LeavesTheOldSizesInPlaceWhereThereIsNoMemory) {
  const Model model = three_in_a_row();
  MeteredDevice device;
  Program program = prepare(model.graph, Sequential(), Split{{4}}, device).value();
  device.refuse_more_than(0);
  ASSERT_THAT(program.rebind(Split{{4000}}), RefusedBy(kOutOfMemory));
  EXPECT_EQ(run_rows(program, model, 4), plain_output(model, {.rows = 4}));
}

TEST(ProgramArena, MayGrowUnderAnotherProgram) {
  const Model model = two_layers();
  CpuDevice cpu;
  const auto arena = std::make_shared<Arena>(cpu);
  Program small = prepare(model.graph, Leapfrog(2), Split{{2, 2}}, cpu, arena).value();
  ASSERT_THAT(run_rows(small, model, 4), Works());
  Program large = prepare(model.graph, Leapfrog(2), Split{{300, 300}}, cpu, arena).value();
  ASSERT_THAT(run_rows(large, model, 600), Works());
  EXPECT_EQ(run_rows(small, model, 4), plain_output(model, {.rows = 4}));
}

TEST(ProgramArena, IsSharedByItsPrograms) {
  const Model model = two_layers();
  MeteredDevice device;
  const auto arena = std::make_shared<Arena>(device);
  Program large = prepare(model.graph, Leapfrog(2), Split{{300, 300}}, device, arena).value();
  const std::int64_t before = device.bytes_in_use();
  Program small = prepare(model.graph, Leapfrog(2), Split{{2, 2}}, device, arena).value();
  EXPECT_EQ(device.bytes_in_use(), before);
}

TEST(ProgramArena, IsGivenBackWhenItHasGrown) {
  const Model model = two_layers();
  MeteredDevice device;
  const auto arena = std::make_shared<Arena>(device);
  Program small = prepare(model.graph, Leapfrog(2), Split{{20, 20}}, device, arena).value();
  ASSERT_THAT(run_rows(small, model, 40), Works());
  Program large = prepare(model.graph, Leapfrog(2), Split{{300, 300}}, device, arena).value();
  EXPECT_EQ(device.bytes_in_use(), large.placement().arena_bytes);
}

TEST(ProgramThreads, TakeTurns) {
  constexpr int kRuns = 200;
  const Model model = two_layers();
  CpuDevice cpu;
  Program program = prepare(model.graph, Leapfrog(2), Split{{3, 2}}, cpu).value();
  const Numbers expected = plain_output(model, {.rows = 5});
  std::atomic<int> right{0};
  const auto work = [&] {
    for (int i = 0; i < kRuns; ++i) {
      const auto y = run_rows(program, model, 5);
      if (y && *y == expected) ++right;
    }
  };
  std::thread other(work);
  work();
  other.join();
  EXPECT_EQ(right.load(), 2 * kRuns);
}

/// A traced run of two layers on two lanes.
class TracedRun : public ::testing::Test {
 protected:
  TracedRun() {
    const Model model = two_layers();
    program_ = prepare(model.graph, Leapfrog(2), Split{{3, 2}}, cpu_).value();
    EXPECT_THAT(run_rows(*program_, model, 5, {.trace = RunOptions::Trace::kOn}), Works());
    timeline_ = program_->timeline();
    for (const Timeline::Span& span : timeline_.spans) by_step_[span.step] = span;
  }

  [[nodiscard]] const Timeline::Span& span_of(std::uint32_t lane, std::uint32_t position) {
    return by_step_.at(program_->plan().lane_steps.at(lane).at(position));
  }

  CpuDevice cpu_;
  std::optional<Program> program_;
  Timeline timeline_;
  std::map<StepId, Timeline::Span> by_step_;
};

TEST_F(TracedRun, HasEveryStepOnce) { EXPECT_EQ(by_step_.size(), program_->plan().steps.size()); }

TEST_F(TracedRun, NamesStepsAsThePlanDoes) { EXPECT_EQ(span_of(1, 0).label, "reduce0.0"); }

TEST_F(TracedRun, NamesItsLanes) {
  EXPECT_THAT(timeline_.lanes, ElementsAre("compute", "network"));
}

TEST_F(TracedRun, KeepsEachLaneInOrder) {
  for (std::uint32_t lane = 0; lane < 2; ++lane) {
    for (std::uint32_t i = 1; i < program_->plan().lane_steps[lane].size(); ++i) {
      EXPECT_LE(span_of(lane, i - 1).end_ns, span_of(lane, i).begin_ns);
    }
  }
}

TEST_F(TracedRun, StartsEachStepAfterWhatItWaitsFor) {
  for (const Timeline::Span& span : timeline_.spans) {
    for (const Wait& wait : program_->plan().waits(program_->plan().steps[span.step.index])) {
      EXPECT_LE(span_of(wait.lane, wait.count - 1).end_ns, span.begin_ns);
    }
  }
}

TEST_F(TracedRun, LastsAsLongAsItsLastStep) {
  EXPECT_THAT(timeline_.spans,
              Each(::testing::Field(&Timeline::Span::end_ns, ::testing::Le(timeline_.total_ns))));
}

TEST_F(TracedRun, IsSortedByBegin) {
  EXPECT_TRUE(std::ranges::is_sorted(timeline_.spans, {}, &Timeline::Span::begin_ns));
}

TEST(UntracedRun, HasNoTimeline) {
  const Model model = three_in_a_row();
  CpuDevice cpu;
  Program program = prepare(model.graph, Sequential(), Split{{4}}, cpu).value();
  ASSERT_THAT(run_rows(program, model, 4), Works());
  EXPECT_TRUE(program.timeline().spans.empty());
}

}  // namespace
}  // namespace dynaflow::testing
