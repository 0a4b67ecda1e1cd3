#include "dynaflow/placement/placement.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "dynaflow/dynaflow.h"
#include "support/findings.h"
#include "support/models.h"
#include "support/scripted.h"

namespace dynaflow::testing {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::IsEmpty;

constexpr std::int64_t kRowBytes = kColumns * 8;

/// A verified plan with a placement that a test may break.
class Placed {
 public:
  Placed(const Graph& graph, const OpScheduler& strategy, Split split)
      : split_(std::move(split)),
        plan_(make_placed_plan(std::make_shared<const Graph>(graph), strategy, split_).value()) {
    EXPECT_THAT(plan_->place(split_, {}, placement), Works());
  }

  [[nodiscard]] const Buffers& buffers() const { return plan_->buffers(); }
  [[nodiscard]] std::string text() const {
    return to_string(placement, plan_->buffers(), plan_->graph());
  }
  [[nodiscard]] std::vector<Diagnostic> judge() const {
    return PlacementVerifier(plan_->graph(), plan_->plan(), plan_->buffers(),
                             plan_->happens_before())
        .verify(placement);
  }
  [[nodiscard]] std::int64_t must_be_live() const {
    return dynaflow::must_be_live(plan_->graph(), plan_->plan(), plan_->buffers(), placement,
                                  plan_->happens_before());
  }
  /// The view of this value in the first step of this op.
  [[nodiscard]] PlacedView& view(std::string_view op, std::string_view value) {
    const Plan& plan = plan_->plan();
    for (const Step& step : plan.steps) {
      if (plan_->graph().op(plan.ops(step).front()).name != op) continue;
      for (std::uint32_t i = 0; i < step.operands.count; ++i) {
        const ValueId id = plan.operands(step)[i].value;
        if (plan_->graph().value(id).name == value) {
          return placement.views[step.operands.first + i];
        }
      }
    }
    throw std::logic_error("no such view");
  }

  Placement placement;

 private:
  Split split_;
  std::shared_ptr<const PlacedPlan> plan_;
};

/// `first` on each micro-batch, all else merged.
const Scripted kMergeLate([](ScheduleContext& ctx) {
  for (const ReadyOp& op : ctx.get_ready_ops()) ctx.execute(op);
  while (ctx.unfinished()) ctx.execute(ctx.get_ready_ops());
});

TEST(Placement, ReusesTheBuffersOfAMicrobatchThatIsDone) {
  EXPECT_EQ(Placed(three_in_a_row().graph, Sequential(2), Split{{8, 8}}).text(),
            "placement  4 buffers in 384 bytes\n"
            "  u.0  192 bytes at 0\n"
            "  v.0  192 bytes at 192\n"
            "  u.1  192 bytes at 0\n"
            "  v.1  192 bytes at 192\n");
}

TEST(Placement, GivesMergedMicrobatchesOneBuffer) {
  EXPECT_EQ(Placed(three_in_a_row().graph, kMergeLate, Split{{8, 8}}).text(),
            "placement  2 buffers in 768 bytes\n"
            "  u.0-1  384 bytes at 0\n"
            "  v.0-1  384 bytes at 384\n");
}

TEST(Placement, JoinsOnlyWhatAStepSeesTogether) {
  const Scripted pairs([](ScheduleContext& ctx) {
    while (ctx.unfinished()) {
      const auto ready = ctx.get_ready_ops();
      ctx.execute({ready.at(0), ready.at(1)});
      ctx.execute(ready.at(2));
    }
  });
  const Placed placed(three_in_a_row().graph, pairs, Split{{8, 8, 8}});
  EXPECT_EQ(placed.buffers().items.at(placed.buffers().arena.at(0).index).microbatches,
            (MicrobatchRange{0, 2}));
}

TEST(Placement, CutsSlicesOutOfAMergedBuffer) {
  Placed placed(three_in_a_row().graph, kMergeLate, Split{{3, 5}});
  EXPECT_EQ(placed.view("second", "u").rows, 8);
}

TEST(Placement, PutsUnorderedStepsApart) {
  EXPECT_EQ(Placed(three_in_a_row().graph, Branches(2, 2), Split{{8, 8}}).placement.arena_bytes,
            4 * 192);
}

TEST(Placement, AlignsEveryBuffer) {
  const Placed placed(three_in_a_row().graph, Branches(2, 2), Split{{1, 1}});
  for (const std::int64_t offset : placed.placement.offsets) {
    EXPECT_EQ(offset % Placement::kAlignment, 0);
  }
}

TEST(Placement, OfNoRowsTakesNothing) {
  EXPECT_EQ(Placed(with_mean().graph, Sequential(2), Split{{0, 0}}).placement.arena_bytes, 64);
}

TEST(Placement, LeavesTheCallersMemoryAlone) {
  GraphBuilder builder;
  const ValueId x = builder.input("x", kRow);
  const ValueId y = builder.value("y", kRow);
  builder.op({.name = "copy", .reads = {x}, .writes = {y}});
  builder.output(y);
  EXPECT_EQ(Placed(builder.build().value(), Sequential(), Split{{8}}).placement.arena_bytes, 0);
}

TEST(MustBeLive, IsWhatOneStepTouches) {
  EXPECT_EQ(Placed(three_in_a_row().graph, Sequential(2), Split{{8, 8}}).must_be_live(), 2 * 192);
}

TEST(MustBeLive, CountsWhatIsNeededLater) {
  EXPECT_EQ(Placed(two_branches().graph, Sequential(), Split{{8}}).must_be_live(), 2 * 192);
}

TEST(MustBeLive, CountsAllOfAMergedBuffer) {
  EXPECT_EQ(Placed(three_in_a_row().graph, kMergeLate, Split{{8, 8}}).must_be_live(), 2 * 384);
}

TEST(MustBeLive, OfNoRowsIsWhatHasNone) {
  EXPECT_EQ(Placed(with_mean().graph, Sequential(2), Split{{0, 0}}).must_be_live(), kRowBytes);
}

TEST(RuleM1, AcceptsWhatMakePlacementMakes) {
  EXPECT_THAT(Placed(two_layers().graph, Leapfrog(3), Split{{3, 1, 2}}).judge(), IsEmpty());
}

TEST(RuleM1, RefusesTwoBuffersThatAreLiveInTheSameBytes) {
  Placed placed(three_in_a_row().graph, Sequential(), Split{{8}});
  for (std::int64_t& offset : placed.placement.offsets) offset = 0;
  EXPECT_THAT(placed.judge(), Contains(AllOf(Broke(kLiveOverlap), Says("second"))));
}

TEST(RuleM1, RefusesAByteThatUnorderedStepsShare) {
  Placed placed(three_in_a_row().graph, Branches(2, 2), Split{{8, 8}});
  const auto& arena = placed.buffers().arena;
  placed.placement.offsets[arena.at(1).index] = placed.placement.offsets[arena.at(0).index] + 191;
  EXPECT_THAT(placed.judge(), Contains(Broke(kLiveOverlap)));
}

TEST(RuleM1, RefusesASliceThatIsNotWhereItsRowsAre) {
  Placed placed(three_in_a_row().graph, kMergeLate, Split{{4, 4}});
  placed.view("first", "u").offset += kRowBytes;
  EXPECT_THAT(placed.judge(), Contains(Broke(kLiveOverlap)));
}

TEST(RuleM2, RefusesAViewBeyondTheArena) {
  Placed placed(three_in_a_row().graph, Sequential(), Split{{8}});
  placed.placement.arena_bytes = 192;
  EXPECT_THAT(placed.judge(), Contains(AllOf(Broke(kViewOutsideBuffer),
                                             Says("second on microbatch 0"), Says("'v'"))));
}

TEST(RuleM2, RefusesAViewBeforeTheArena) {
  Placed placed(three_in_a_row().graph, Sequential(), Split{{8}});
  placed.view("first", "u").offset = -8;
  EXPECT_THAT(placed.judge(), Contains(AllOf(Broke(kViewOutsideBuffer), Says("'u'"))));
}

TEST(RuleM2, RefusesAViewBeyondTheCallersMemory) {
  Placed placed(three_in_a_row().graph, Sequential(), Split{{8}});
  placed.view("first", "x").rows = 9;
  EXPECT_THAT(placed.judge(), Contains(AllOf(Broke(kViewOutsideBuffer), Says("'x'"))));
}

TEST(PlacementRules, SayWhereTheyWereBroken) {
  Placed placed(three_in_a_row().graph, Sequential(), Split{{8}});
  placed.placement.arena_bytes = 0;
  EXPECT_THAT(placed.judge(), Contains(At("placement")));
}

}  // namespace
}  // namespace dynaflow::testing
