// One schedule per rule, which breaks that rule and nothing else.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <stdexcept>
#include <vector>

#include "dynaflow/graph/chain.h"
#include "dynaflow/schedule/op_scheduler.h"
#include "dynaflow/schedule/verify.h"
#include "support/counting_body.h"
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
using ::testing::SizeIs;
using ::testing::UnorderedElementsAre;

constexpr const char* kHere = "rules_test.cpp";

std::vector<Diagnostic> judge(const Graph& graph, const Recorder& recorder,
                              const Split& split = {{4, 4}}) {
  return verify(graph, record(graph, Scripted(recorder), split));
}

/// A kernel that claims to compute three_in_a_row's `second`.
Replacement second_as(Type input, Type output) {
  return {.name = "fast", .inputs = {input}, .outputs = {output}, .kernel = mix(2)};
}

/// Runs three_in_a_row, with its second op on microbatch 0 replaced.
Recorder replacing_second(const Replacement& replacement) {
  return [replacement](ScheduleContext& ctx) {
    ctx.execute(ready(ctx, "first", 0));
    ctx.execute(ready(ctx, "second", 0), {.replace_func = replacement});
    finish(ctx);
  };
}

TEST(ScheduleRules, AcceptWhatTakesEveryReadyOp) {
  EXPECT_THAT(judge(two_layers().graph, [](ScheduleContext& ctx) { finish(ctx); }), IsEmpty());
}

TEST(RuleS1, RefusesAForgedOp) {
  EXPECT_THAT(judge(three_in_a_row().graph,
                    [](ScheduleContext& ctx) {
                      finish(ctx);
                      ctx.execute(ReadyOp{});
                    }),
              ElementsAre(AllOf(Broke(kUnknownOp), Says("not in this graph"), At(kHere))));
}

TEST(RuleS1, RefusesAnExecuteOfNothing) {
  EXPECT_THAT(judge(three_in_a_row().graph,
                    [](ScheduleContext& ctx) {
                      finish(ctx);
                      ctx.execute(std::vector<ReadyOp>{});
                    }),
              ElementsAre(AllOf(Broke(kUnknownOp), Says("no op"), At(kHere))));
}

TEST(RuleS3, RefusesAnOpThatRunsTwice) {
  EXPECT_THAT(judge(three_in_a_row().graph,
                    [](ScheduleContext& ctx) {
                      const ReadyOp first = ready(ctx, "first", 1);
                      ctx.execute(first);
                      ctx.execute(first);
                      finish(ctx);
                    }),
              ElementsAre(AllOf(Broke(kRunTwice), Says("first on microbatch 1"), Says("lane main"),
                                At(kHere))));
}

TEST(RuleS3, RefusesAMergeWithWhatHasRun) {
  EXPECT_THAT(judge(three_in_a_row().graph,
                    [](ScheduleContext& ctx) {
                      const auto both = ctx.get_ready_ops();
                      ctx.execute(both.front());
                      ctx.execute(both);
                      finish(ctx);
                    }),
              ElementsAre(AllOf(Broke(kRunTwice), Says("first on microbatch 0"), At(kHere))));
}

TEST(RuleS4, RefusesAnOpThatNeverRuns) {
  EXPECT_THAT(judge(three_in_a_row().graph,
                    [](ScheduleContext& ctx) {
                      for (int i = 0; i < 5; ++i) ctx.execute(ctx.get_ready_ops().front());
                    }),
              ElementsAre(AllOf(Broke(kNeverRun), Says("third was not executed on microbatch 1"))));
}

TEST(RuleS4, NamesEveryMicrobatchThatIsMissing) {
  EXPECT_THAT(judge(three_in_a_row().graph, [](ScheduleContext&) {}),
              Contains(AllOf(Broke(kNeverRun), Says("second"), Says("microbatches 0, 1"))));
}

TEST(RuleS4, NamesTheStrategyToMend) {
  EXPECT_THAT(judge(three_in_a_row().graph, [](ScheduleContext&) {}), Each(At("Scripted")));
}

TEST(RuleS5, RefusesAnOpBeforeWhatItReads) {
  EXPECT_THAT(judge(three_in_a_row().graph,
                    [](ScheduleContext& ctx) {
                      const ReadyOp first = ready(ctx, "first", 0);
                      ctx.execute(ctx.get_ready_after({first}));
                      ctx.execute(first);
                      finish(ctx);
                    }),
              ElementsAre(AllOf(Broke(kNotReady), Says("second on microbatch 0"),
                                Says("before first on microbatch 0"), At(kHere))));
}

TEST(RuleS5, RefusesAnOverwriteBeforeItsReader) {
  GraphBuilder builder;
  const ValueId x = builder.input("x", kRow);
  const ValueId y = builder.value("y", kRow);
  builder.op({.name = "read", .reads = {x}, .writes = {y}});
  builder.op({.name = "overwrite", .updates = {x}});
  EXPECT_THAT(judge(builder.build().value(),
                    [](ScheduleContext& ctx) {
                      const ReadyOp read = ready(ctx, "read", 1);
                      ctx.execute(ctx.get_ready_after({read}));
                      ctx.execute(read);
                      finish(ctx);
                    }),
              ElementsAre(AllOf(Broke(kNotReady), Says("overwrite on microbatch 1"), At(kHere))));
}

TEST(RuleS5, RefusesACoupledOpBeforeOneMicrobatch) {
  EXPECT_THAT(judge(with_mean().graph,
                    [](ScheduleContext& ctx) {
                      const auto both = ctx.get_ready_ops();
                      ctx.execute(both.at(0));
                      ctx.execute(ctx.get_ready_after({both.at(1)}));
                      ctx.execute(both.at(1));
                      finish(ctx);
                    }),
              Contains(AllOf(Broke(kNotReady), Says("mean"), Says("before pre on microbatch 1"),
                             At(kHere))));
}

TEST(RuleS5, RefusesAReplacedChainWithAGap) {
  const Model model = three_in_a_row();
  EXPECT_THAT(judge(model.graph,
                    [](ScheduleContext& ctx) {
                      const ReadyOp first = ready(ctx, "first", 0);
                      const ReadyOp second = ctx.get_ready_after({first}).front();
                      const ReadyOp third = ctx.get_ready_after({first, second}).front();
                      ctx.execute({first, third}, {.replace_func = Replacement{
                                                       "gap", {kRow, kRow}, {kRow, kRow}, mix(1)}});
                      ctx.execute(second);
                      finish(ctx);
                    }),
              ElementsAre(AllOf(Broke(kNotReady), Says("third on microbatch 0"),
                                Says("before second on microbatch 0"), At(kHere))));
}

TEST(RuleS6, RefusesAMergeOfMicrobatchesThatAreNotAdjacent) {
  EXPECT_THAT(judge(
                  three_in_a_row().graph,
                  [](ScheduleContext& ctx) {
                    const auto all = ctx.get_ready_ops();
                    ctx.execute({all.at(0), all.at(2)});
                    finish(ctx);
                  },
                  Split{{2, 2, 2}}),
              ElementsAre(AllOf(Broke(kIllegalMerge), Says("first on microbatches 0, 2"),
                                Says("not adjacent"), At(kHere))));
}

TEST(RuleS6, RefusesACoupledOpOnAPartOfTheBatch) {
  const Model model = with_mean();
  Schedule schedule =
      record(model.graph, Scripted([](ScheduleContext& ctx) { finish(ctx); }), Split{{4, 4}});
  for (ScheduledStep& step : schedule.steps) {
    if (step.ops.front() == OpId{1}) step.microbatches = {Microbatch{0}};
  }
  EXPECT_THAT(verify(model.graph, schedule),
              Contains(AllOf(Broke(kIllegalMerge), Says("mean runs once per batch"),
                             Says("its rows depend on each other"), Says("microbatch 0"))));
}

TEST(RuleS6, RefusesToSliceAnUnplacedValue) {
  EXPECT_THAT(judge(with_unplaced().graph,
                    [](ScheduleContext& ctx) {
                      const auto samples = ctx.get_ready_ops();
                      const auto gather = ctx.get_ready_after({samples.at(0)});
                      ctx.execute(samples);
                      ctx.execute(gather);
                      ctx.execute(ctx.get_ready_ops());
                    }),
              Contains(AllOf(Broke(kIllegalMerge), Says("gather on microbatch 0"), Says("'k'"),
                             Says("made on microbatches 0, 1"), At(kHere))));
}

TEST(RuleS7, AcceptsAReplacementOfTheChainsTypes) {
  EXPECT_THAT(judge(three_in_a_row().graph, replacing_second(second_as(kRow, kRow))), IsEmpty());
}

TEST(RuleS7, RefusesAReplacementOfAnotherDtype) {
  const Type floats{Kind::kSplit, DType::kF32, kColumns};
  EXPECT_THAT(judge(three_in_a_row().graph, replacing_second(second_as(kRow, floats))),
              ElementsAre(AllOf(Broke(kIllegalReplace), Says("fast: output 0"), Says("'v'"),
                                Says("split i64[rows, 3]"), At(kHere))));
}

TEST(RuleS7, RefusesAReplacementWithoutAKernel) {
  Replacement empty = second_as(kRow, kRow);
  empty.kernel = {};
  EXPECT_THAT(judge(three_in_a_row().graph, replacing_second(empty)),
              ElementsAre(AllOf(Broke(kIllegalReplace), Says("fast has no kernel"), At(kHere))));
}

TEST(RuleS7, AcceptsAReplacementWithABody) {
  Replacement bodily = second_as(kRow, kRow);
  bodily.kernel = {};
  bodily.body = std::make_shared<CountingBody>(mix(1));
  EXPECT_THAT(judge(three_in_a_row().graph, replacing_second(bodily)), IsEmpty());
}

TEST(RuleS7, RefusesAReplacementWithAKernelAndABody) {
  Replacement both = second_as(kRow, kRow);
  both.body = std::make_shared<CountingBody>(mix(1));
  EXPECT_THAT(judge(three_in_a_row().graph, replacing_second(both)),
              ElementsAre(AllOf(Broke(kIllegalReplace), Says("has a kernel and a body"))));
}

TEST(RuleS7, RefusesAReplacementWhoseMakerKnowsItsFault) {
  Replacement faulty = second_as(kRow, kRow);
  faulty.fault = "it mixes rows";
  EXPECT_THAT(judge(three_in_a_row().graph, replacing_second(faulty)),
              ElementsAre(AllOf(Broke(kIllegalReplace), Says("fast: it mixes rows"), At(kHere))));
}

TEST(RuleS7, AcceptsAReplacementMadeFromTheContextsGraph) {
  const auto replace = [](ScheduleContext& ctx) {
    while (ctx.unfinished()) {
      const ReadyOp op = ctx.get_ready_ops().front();
      const ChainBoundary chain = chain_boundary(ctx.graph(), std::array{op.id()});
      Replacement fast{.name = "fast", .kernel = mix(1)};
      for (std::size_t i = 0; i < chain.operands.size(); ++i) {
        (i < chain.reads ? fast.inputs : fast.outputs)
            .push_back(ctx.graph().value(chain.operands[i].value).type);
      }
      ctx.execute(op, {.replace_func = fast});
    }
  };
  EXPECT_THAT(judge(two_branches().graph, replace), IsEmpty());
}

TEST(RuleS7, RefusesAReplacementThatMissesAnInput) {
  Replacement blind = second_as(kRow, kRow);
  blind.inputs.clear();
  EXPECT_THAT(
      judge(three_in_a_row().graph, replacing_second(blind)),
      ElementsAre(AllOf(Broke(kIllegalReplace), Says("0 inputs, but the chain has 1"), At(kHere))));
}

TEST(RuleS7, RefusesAChainOnDifferentMicrobatches) {
  EXPECT_THAT(judge(two_branches().graph,
                    [](ScheduleContext& ctx) {
                      ctx.execute(
                          {ready(ctx, "left", 0), ready(ctx, "right", 1)},
                          {.replace_func = Replacement{"both", {kRow}, {kRow, kRow}, mix(1)}});
                    }),
              Contains(AllOf(Broke(kIllegalReplace), Says("different microbatches"), At(kHere))));
}

TEST(RuleS7, RefusesSeveralOpsInOneStepWithoutAReplacement) {
  const Model model = two_branches();
  Schedule schedule =
      record(model.graph, Scripted([](ScheduleContext& ctx) { finish(ctx); }), Split{{8}});
  schedule.steps.at(0).ops = {OpId{0}, OpId{1}};
  schedule.steps.erase(schedule.steps.begin() + 1);
  EXPECT_THAT(verify(model.graph, schedule), ElementsAre(Broke(kIllegalReplace)));
}

TEST(RuleS9, RefusesAStrategyThatAsksForEver) {
  EXPECT_THAT(judge(three_in_a_row().graph,
                    [](ScheduleContext& ctx) {
                      finish(ctx);
                      for (;;) (void)ctx.get_ready_ops();
                    }),
              ElementsAre(AllOf(Broke(kNoProgress), Says("without executing anything"))));
}

TEST(RuleS9, RefusesAStrategyThatCatchesWhatItCan) {
  EXPECT_THAT(judge(three_in_a_row().graph,
                    [](ScheduleContext& ctx) {
                      finish(ctx);
                      for (;;) {
                        try {
                          (void)ctx.get_ready_ops();
                        } catch (const std::exception&) {
                          continue;
                        }
                      }
                    }),
              ElementsAre(Broke(kNoProgress)));
}

TEST(RuleS9, SaysHowMuchIsLeft) {
  EXPECT_THAT(judge(three_in_a_row().graph,
                    [](ScheduleContext& ctx) {
                      while (ctx.unfinished()) continue;
                    }),
              Contains(AllOf(Broke(kNoProgress), Says("6 ops still to run"))));
}

TEST(RuleS9, NamesTheStrategyToMend) {
  EXPECT_THAT(judge(three_in_a_row().graph,
                    [](ScheduleContext& ctx) {
                      while (ctx.unfinished()) continue;
                    }),
              Contains(AllOf(Broke(kNoProgress), At("Scripted"))));
}

TEST(RuleS9, IsAllThatIsSaidWhereTheStopComesBackAsAnotherException) {
  const auto translated = [](ScheduleContext& ctx) {
    try {
      while (ctx.unfinished()) static_cast<void>(ctx.get_ready_ops());
    } catch (...) {
      throw std::runtime_error("an exception in another language");
    }
  };
  EXPECT_THAT(judge(three_in_a_row().graph, translated), ElementsAre(Broke(kNoProgress)));
}

TEST(RuleS9, LeavesAPatientStrategyAlone) {
  EXPECT_THAT(judge(three_in_a_row().graph,
                    [](ScheduleContext& ctx) {
                      while (ctx.unfinished()) {
                        for (int i = 0; i < 500; ++i) (void)ctx.get_ready_ops(Microbatch{0});
                        ctx.execute(ctx.get_ready_ops().front());
                      }
                    }),
              IsEmpty());
}

TEST(RuleS10, RefusesAnOpOfAnotherRecording) {
  const Model model = three_in_a_row();
  const Split halves{{4, 4}};
  ScheduleContext other(model.graph, halves);
  const ReadyOp kept = ready(other, "first", 1);
  EXPECT_THAT(judge(model.graph,
                    [&](ScheduleContext& ctx) {
                      finish(ctx);
                      ctx.execute(kept);
                    }),
              ElementsAre(AllOf(Broke(kStaleHandle), Says("first"), At(kHere))));
}

TEST(RuleS10, RefusesALaneOfAnotherRecording) {
  const Model model = three_in_a_row();
  const Split halves{{4, 4}};
  ScheduleContext other(model.graph, halves);
  const Lane kept = other.lane("compute");
  EXPECT_THAT(judge(model.graph,
                    [&](ScheduleContext& ctx) {
                      const ReadyOp first = ready(ctx, "first", 0);
                      finish(ctx);
                      ctx.execute(first, {.lane = kept});
                    }),
              ElementsAre(AllOf(Broke(kStaleHandle), Says("first"), At(kHere))));
}

TEST(RuleS10, RefusesAStepOfAnotherRecording) {
  const Model model = three_in_a_row();
  EXPECT_THAT(judge(model.graph,
                    [&](ScheduleContext& ctx) {
                      const ReadyOp first = ready(ctx, "first", 0);
                      finish(ctx);
                      ctx.execute(first, {.after = {IssuedStep{}}});
                    }),
              ElementsAre(AllOf(Broke(kStaleHandle), Says("first"), At(kHere))));
}

TEST(RuleS11, ReportsWhatAStrategyThrew) {
  EXPECT_THAT(
      judge(three_in_a_row().graph,
            [](ScheduleContext& ctx) {
              finish(ctx);
              throw std::runtime_error("out of ideas");
            }),
      ElementsAre(AllOf(Broke(kStrategyFailed), Says("out of ideas"), At("Scripted.schedule"))));
}

TEST(RuleS11, ReportsWhatIsNoException) {
  EXPECT_THAT(judge(three_in_a_row().graph,
                    [](ScheduleContext& ctx) {
                      finish(ctx);
                      throw 42;
                    }),
              ElementsAre(AllOf(Broke(kStrategyFailed), At("Scripted.schedule"))));
}

TEST(ScheduleRules, ReportEveryFindingAtOnce) {
  EXPECT_THAT(judge(three_in_a_row().graph,
                    [](ScheduleContext& ctx) {
                      const ReadyOp first = ready(ctx, "first", 0);
                      const ReadyOp second = ctx.get_ready_after({first}).front();
                      ctx.execute(second);
                      ctx.execute(first);
                      ctx.execute(first);
                      ctx.execute(ReadyOp{});
                      ctx.execute(ready(ctx, "first", 1));
                      ctx.execute(ready(ctx, "second", 1));
                      ctx.execute(ready(ctx, "third", 1));
                    }),
              UnorderedElementsAre(Broke(kNotReady), Broke(kRunTwice), Broke(kUnknownOp),
                                   AllOf(Broke(kNeverRun), Says("third"))));
}

TEST(ScheduleRules, ReportTheSameFindingOnce) {
  EXPECT_THAT(judge(three_in_a_row().graph,
                    [](ScheduleContext& ctx) {
                      const ReadyOp first = ready(ctx, "first", 0);
                      for (int i = 0; i < 5; ++i) ctx.execute(first);
                      finish(ctx);
                    }),
              SizeIs(1));
}

TEST(ScheduleRules, SayWhatToDo) {
  EXPECT_THAT(judge(three_in_a_row().graph, [](ScheduleContext&) {}),
              Each(::testing::Field(&Diagnostic::fix, Not(IsEmpty()))));
}

}  // namespace
}  // namespace dynaflow::testing
