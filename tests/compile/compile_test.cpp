#include "dynaflow/compile.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <optional>
#include <vector>

#include "dynaflow/dynaflow.h"
#include "support/findings.h"
#include "support/models.h"
#include "support/scripted.h"

namespace dynaflow::testing {
namespace {

/// three_in_a_row under a strategy, with what it has done so far.
class Compiled {
 public:
  explicit Compiled(std::shared_ptr<const OpScheduler> strategy = std::make_shared<Sequential>(2),
                    CompileOptions options = {})
      : compiled_(model_.graph, std::move(strategy), cpu_, options) {}

  /// Runs batches of these many rows, one after the other.
  Compiled& run(const std::vector<std::int64_t>& rows) {
    for (const std::int64_t each : rows) run(Batch{.rows = each});
    return *this;
  }
  Compiled& run(const Batch& batch) {
    EXPECT_EQ(run_once(compiled_, model_, batch), plain_output(model_, batch));
    return *this;
  }
  [[nodiscard]] CompileStats stats() const { return compiled_.stats(); }
  [[nodiscard]] CompiledGraph& graph() { return compiled_; }

 private:
  Model model_ = three_in_a_row();
  CpuDevice cpu_;
  CompiledGraph compiled_;
};

/// Asks for the size of the first micro-batch.
std::shared_ptr<const OpScheduler> curious() {
  return scripted([](ScheduleContext& ctx) {
    (void)ctx.rows(Microbatch{0});
    finish(ctx);
  });
}

TEST(CompiledGraph, SplitsABatchOnce) { EXPECT_EQ(Compiled().run({8, 8, 8}).stats().splits, 1U); }

TEST(CompiledGraph, SplitsEachNewBatch) { EXPECT_EQ(Compiled().run({8, 9}).stats().splits, 2U); }

TEST(CompiledGraph, SplitsABatchOfOtherRequestsAnew) {
  Compiled compiled;
  compiled.run(Batch{.rows = 8, .requests = {8}}).run(Batch{.rows = 8, .requests = {4, 4}});
  EXPECT_EQ(compiled.stats().splits, 2U);
}

TEST(CompiledGraph, SplitsABatchOfOtherFactsAnew) {
  Compiled compiled;
  compiled.run(Batch{.rows = 8}).run(Batch{.rows = 8, .facts = {{"decode", 1}}});
  EXPECT_EQ(compiled.stats().splits, 2U);
}

TEST(CompiledGraph, RecordsOncePerCountOfMicrobatches) {
  EXPECT_EQ(Compiled().run({8, 9, 100}).stats().recordings, 1U);
}

TEST(CompiledGraph, RecordsAnewForAnotherCount) {
  const auto strategy =
      scripted([](ScheduleContext& ctx) { finish(ctx); },
               [](const Batch& batch) { return batch.even(batch.rows > 8 ? 2 : 1); });
  EXPECT_EQ(Compiled(strategy).run({8, 9, 7, 10}).stats().recordings, 2U);
}

TEST(CompiledGraph, RecordsAnewForOtherEmptyMicrobatches) {
  EXPECT_EQ(Compiled().run({8, 1, 6, 1}).stats().recordings, 2U);
}

TEST(CompiledGraph, RecordsAnewForOtherRowsThatWereRead) {
  EXPECT_EQ(Compiled(curious()).run({8, 10}).stats().recordings, 2U);
}

TEST(CompiledGraph, RecordsOnceForRowsThatWereNotRead) {
  EXPECT_EQ(Compiled(curious()).run({8, 7}).stats().recordings, 1U);
}

TEST(CompiledGraph, BindsOncePerSizes) {
  EXPECT_EQ(Compiled().run({8, 9, 8, 9}).stats().bindings, 2U);
}

TEST(CompiledGraph, BindsOnceForBatchesThatAreSplitAlike) {
  Compiled compiled;
  compiled.run(Batch{.rows = 8}).run(Batch{.rows = 8, .facts = {{"decode", 1}}});
  EXPECT_EQ(compiled.stats().bindings, 1U);
}

TEST(CompiledGraph, DoesNothingButRunInSteadyState) {
  Compiled compiled;
  const CompileStats warm = compiled.run({8, 9}).stats();
  const CompileStats steady = compiled.run({8, 9, 8, 9, 9, 8}).stats();
  EXPECT_EQ(std::tie(steady.splits, steady.recordings, steady.bindings),
            std::tie(warm.splits, warm.recordings, warm.bindings));
}

TEST(CompiledGraph, ForgetsTheSplitUsedLeastRecently) {
  Compiled compiled(std::make_shared<Sequential>(2), {.splits = 2});
  EXPECT_EQ(compiled.run({6, 7, 6, 8, 6}).stats().splits, 3U);
}

TEST(CompiledGraph, SplitsAgainWhatItForgot) {
  Compiled compiled(std::make_shared<Sequential>(2), {.splits = 2});
  EXPECT_EQ(compiled.run({6, 7, 8, 6}).stats().splits, 4U);
}

TEST(CompiledGraph, ForgetsThePlanUsedLeastRecently) {
  Compiled compiled(curious(), {.plans = 2, .programs = 1});
  EXPECT_EQ(compiled.run({6, 8, 6, 10, 6}).stats().recordings, 3U);
}

TEST(CompiledGraph, RecordsAgainWhatItForgot) {
  Compiled compiled(curious(), {.plans = 2, .programs = 1});
  EXPECT_EQ(compiled.run({6, 8, 10, 6}).stats().recordings, 4U);
}

TEST(CompiledGraph, ForgetsTheProgramUsedLeastRecently) {
  Compiled compiled(std::make_shared<Sequential>(2), {.programs = 2});
  EXPECT_EQ(compiled.run({6, 7, 6, 8, 6}).stats().bindings, 3U);
}

TEST(CompiledGraph, BindsAgainWhatItForgot) {
  Compiled compiled(std::make_shared<Sequential>(2), {.programs = 1});
  EXPECT_EQ(compiled.run({6, 7, 6}).stats().bindings, 3U);
}

TEST(CompiledGraph, WorksWithoutRememberingAnything) {
  EXPECT_EXIT(
      {
        Compiled(std::make_shared<Sequential>(2), {.splits = 0, .plans = 0, .programs = 0})
            .run({6, 7, 6});
        std::exit(::testing::Test::HasFailure() ? 1 : 0);
      },
      ::testing::ExitedWithCode(0), "");
}

TEST(CompiledGraph, LeavesAProgramThatItForgotToBeLookedAt) {
  const Model model = three_in_a_row();
  CpuDevice cpu;
  CompiledGraph compiled(model.graph, std::make_shared<Sequential>(2), cpu, {.programs = 1});
  const auto kept = compiled.program({.rows = 6}).value();
  ASSERT_THAT(run_once(compiled, model, {.rows = 900}), Works());
  EXPECT_EQ(kept->placement().row_starts.back(), 6);
  EXPECT_NE(compiled.program({.rows = 6}).value(), kept);
}

TEST(CompiledGraph, ShowsTheProgramThatRunUses) {
  Compiled compiled;
  const auto before = compiled.graph().program({.rows = 8}).value();
  compiled.run(Batch{.rows = 8});
  EXPECT_EQ(compiled.graph().program({.rows = 8}).value(), before);
}

TEST(CompiledGraph, RunsAnEmptyBatch) {
  EXPECT_EQ(Compiled().run(Batch{.rows = 0}).stats().bindings, 1U);
}

TEST(CompiledGraph, RefusesABatchOfLessThanNoRows) {
  EXPECT_THAT(Compiled().graph().program({.rows = -4}), RefusedBy(kBatchNotCovered));
}

TEST(CompiledGraph, RefusesABatchOfMoreRowsThanCanBeCounted) {
  EXPECT_THAT(Compiled().graph().program({.rows = std::int64_t{1} << 62}),
              RefusedBy(kBatchNotCovered));
}

TEST(CompiledGraph, ReportsWhatTheVerifierFound) {
  EXPECT_THAT(Compiled(scripted([](ScheduleContext&) {})).graph().program({.rows = 8}),
              RefusedBy(kNeverRun));
}

TEST(CompiledGraph, ReportsItAgainWhenAskedAgain) {
  Compiled compiled(scripted([](ScheduleContext&) {}));
  ASSERT_THAT(compiled.graph().program({.rows = 8}), RefusedBy(kNeverRun));
  EXPECT_THAT(compiled.graph().program({.rows = 8}), RefusedBy(kNeverRun));
}

TEST(CompiledGraph, KeepsItsGraph) { EXPECT_EQ(Compiled().graph().graph().ops().size(), 3U); }

/// One op whose body does this.
CompiledGraph with_body(Device& device, std::function<void()> body) {
  GraphBuilder builder;
  builder.op({.name = "only", .kernel = [body = std::move(body)](const KernelArgs&) { body(); }});
  return {builder.build().value(), std::make_shared<Sequential>(), device};
}

TEST(CompiledGraph, RefusesARunFromItsOwnBody) {
  CpuDevice cpu;
  CompiledGraph* self = nullptr;
  Result<Stats> inner;
  CompiledGraph compiled = with_body(cpu, [&] { inner = self->run({.rows = 2}, {}); });
  self = &compiled;
  ASSERT_THAT(compiled.run({.rows = 1}, {}), Works());
  EXPECT_THAT(inner, RefusedBy(kReentry));
}

TEST(MakePlacedPlan, RefusesASplitIntoNothing) {
  const auto graph = std::make_shared<const Graph>(three_in_a_row().graph);
  EXPECT_THAT(make_placed_plan(graph, Sequential(), Split{}), RefusedBy(kBatchNotCovered));
}

TEST(MakePlacedPlan, RefusesNegativeSizes) {
  const auto graph = std::make_shared<const Graph>(three_in_a_row().graph);
  EXPECT_THAT(make_placed_plan(graph, Sequential(), Split{{8, -2}}), RefusedBy(kBatchNotCovered));
}

}  // namespace
}  // namespace dynaflow::testing
