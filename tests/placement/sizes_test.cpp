// What depends on symbols, blocks and scratch: sizes, views, and what the verifier says of them.
#include "dynaflow/placement/sizes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <stdexcept>

#include "dynaflow/dynaflow.h"
#include "support/counting_body.h"
#include "support/findings.h"
#include "support/models.h"
#include "support/scripted.h"

namespace dynaflow::testing {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

using Numbers = std::vector<std::int64_t>;

/// x -> first -> u -> second -> y, all of `elements` in `blocks`.
Graph two_in_a_row(GraphBuilder& builder, const Extent& elements, const Extent& blocks = 1) {
  const auto row = [&](const char* name) {
    return ValueSpec{.name = name, .type = {Kind::kSplit, DType::kI64, elements}, .blocks = blocks};
  };
  const ValueId x = builder.input(row("x"));
  const ValueId u = builder.value(row("u"));
  const ValueId y = builder.value(row("y"));
  builder.op({.name = "first", .reads = {x}, .writes = {u}});
  builder.op({.name = "second", .reads = {u}, .writes = {y}});
  builder.output(y);
  return builder.build().value();
}

Graph symbolic() {
  GraphBuilder builder;
  const SymbolId length = builder.symbol("length");
  return two_in_a_row(builder, Extent(length) * 2 + -2);
}

Graph with_blocks() {
  GraphBuilder builder;
  return two_in_a_row(builder, 6, 3);
}

/// `first` on each half, `second` merged: u is one buffer.
const Scripted kMergeLate([](ScheduleContext& ctx) {
  for (const ReadyOp& op : ctx.get_ready_ops()) ctx.execute(op);
  while (ctx.unfinished()) ctx.execute(ctx.get_ready_ops());
});

struct Placed {
  explicit Placed(const Graph& graph, const OpScheduler& strategy = kMergeLate)
      : plan(make_placed_plan(std::make_shared<const Graph>(graph), strategy, split).value()) {}

  Result<void> place(const Numbers& symbols = {}) { return plan->place(split, symbols, placement); }
  [[nodiscard]] std::vector<Diagnostic> judge() const {
    return PlacementVerifier(plan->graph(), plan->plan(), plan->buffers(), plan->happens_before())
        .verify(placement);
  }
  [[nodiscard]] std::int64_t live() const {
    return must_be_live(plan->graph(), plan->plan(), plan->buffers(), placement,
                        plan->happens_before());
  }

  Split split{{3, 5}};
  std::shared_ptr<const PlacedPlan> plan;
  Placement placement;
};

TEST(SymbolicPlacement, HasTheSizesOfItsSymbols) {
  Placed placed(symbolic());
  ASSERT_THAT(placed.place({9}), Works());
  EXPECT_EQ(placed.placement.storages[0].row_bytes, 16 * 8);
  EXPECT_EQ(placed.placement.arena_bytes, 8 * 16 * 8);
}

TEST(SymbolicPlacement, OfNoElementsTakesNothing) {
  Placed placed(symbolic());
  ASSERT_THAT(placed.place({1}), Works());
  EXPECT_EQ(placed.placement.arena_bytes, 0);
}

TEST(SymbolicPlacement, RefusesAWrongCountOfSymbols) {
  EXPECT_THAT(Placed(symbolic()).place({1, 2}),
              RefusedSaying(kBadBinding, "the graph has 1 symbols, but the batch gives 2 values"));
}

TEST(SymbolicPlacement, RefusesANegativeSymbol) {
  EXPECT_THAT(Placed(symbolic()).place({-1}), RefusedSaying(kBadBinding, "'length' is -1"));
}

TEST(SymbolicPlacement, RefusesANegativeSize) {
  EXPECT_THAT(Placed(symbolic()).place({0}),
              RefusedSaying(kBadBinding, "'x' would have -16 bytes"));
}

TEST(SymbolicPlacement, RefusesASizeThatDoesNotFit) {
  EXPECT_THAT(Placed(symbolic()).place({std::numeric_limits<std::int64_t>::max()}),
              RefusedBy(kBadBinding));
}

TEST(SymbolicPlacement, RefusesBlocksThatDoNotDivideARow) {
  GraphBuilder builder;
  const SymbolId length = builder.symbol("length");
  EXPECT_THAT(Placed(two_in_a_row(builder, 6, length)).place({4}),
              RefusedSaying(kBadBinding, "48 bytes a row in 4 blocks"));
}

TEST(SymbolicPlacement, IsRefusedWhereItsNumbersAreNotTheGraphs) {
  Placed placed(symbolic());
  ASSERT_THAT(placed.place({9}), Works());
  placed.placement.storages[1].row_bytes -= 8;
  EXPECT_THAT(placed.judge(), Contains(AllOf(Broke(kViewOutsideBuffer), Says("'u'"))));
}

/// u is 3 blocks of 8 rows of 16 bytes; micro-batch 1 has 5 of the rows, from the 4th on.
TEST(PlacedBlocks, AreStridedByTheRowsOfTheWholeBuffer) {
  Placed placed(with_blocks());
  ASSERT_THAT(placed.place(), Works());
  const std::uint32_t written = placed.plan->plan().steps[1].operands.first + 1;
  const View view = layout(placed.plan->graph(), placed.plan->plan(), placed.placement, written);
  EXPECT_EQ(placed.placement.views[written].offset, 3 * 16);
  EXPECT_EQ(view.rows, 5);
  EXPECT_EQ(view.row_stride, 16);
  EXPECT_EQ(view.blocks, 3);
  EXPECT_EQ(view.block_stride, 8 * 16);
}

TEST(PlacedBlocks, OfOneBlockHaveNoStride) {
  Placed placed(two_branches().graph);
  ASSERT_THAT(placed.place(), Works());
  EXPECT_EQ(placed.placement.views[0].block_stride, 0);
}

TEST(PlacedBlocks, AreRefusedWhereOneIsNotWhereItBelongs) {
  Placed placed(with_blocks());
  ASSERT_THAT(placed.place(), Works());
  const std::uint32_t written = placed.plan->plan().steps[1].operands.first + 1;
  placed.placement.views[written].block_stride -= 16;
  EXPECT_THAT(placed.judge(), Contains(Broke(kLiveOverlap)));
}

TEST(PlacedBlocks, AreRefusedWhereOneIsOutside) {
  Placed placed(with_blocks());
  ASSERT_THAT(placed.place(), Works());
  const std::uint32_t written = placed.plan->plan().steps[1].operands.first + 1;
  placed.placement.views[written].block_stride += 16;
  EXPECT_THAT(placed.judge(), Contains(AllOf(Broke(kViewOutsideBuffer), Says("'u'"))));
}

/// Two ops on their own that need this scratch each.
Graph two_with_scratch(std::int64_t bytes) {
  GraphBuilder builder;
  const auto body =
      std::make_shared<CountingBody>(mix(1), [bytes](const BindArgs&) { return bytes; });
  const ValueId x = builder.input("x", kRow);
  for (const char* name : {"left", "right"}) {
    const ValueId y = builder.value(std::string("y.") + name, kRow);
    builder.op({.name = name, .reads = {x}, .writes = {y}, .body = body});
    builder.output(y);
  }
  return builder.build().value();
}

const Scripted kSideBySide([](ScheduleContext& ctx) {
  const std::array lanes{ctx.lane("one"), ctx.lane("two")};
  for (std::size_t i = 0; ctx.unfinished(); ++i) {
    ctx.execute(ctx.get_ready_ops().front(), {.lane = lanes[i / 2]});
  }
});

TEST(Scratch, IsSharedByStepsInOrder) {
  Placed placed(two_with_scratch(1000), Sequential(2));
  ASSERT_THAT(placed.place(), Works());
  EXPECT_EQ(placed.placement.arena_bytes, 1024);
}

TEST(Scratch, IsNotSharedByStepsSideBySide) {
  Placed placed(two_with_scratch(1000), kSideBySide);
  ASSERT_THAT(placed.place(), Works());
  EXPECT_EQ(placed.placement.arena_bytes, 2 * 1024);
}

TEST(Scratch, MustBeLiveWhileItsStepRuns) {
  Placed placed(two_with_scratch(1000), Sequential(2));
  ASSERT_THAT(placed.place(), Works());
  EXPECT_EQ(placed.live(), 1000);
}

TEST(Scratch, IsRefusedWhereStepsSideBySideShareIt) {
  Placed placed(two_with_scratch(1000), kSideBySide);
  ASSERT_THAT(placed.place(), Works());
  for (std::int64_t& offset : placed.placement.offsets) offset = 0;
  EXPECT_THAT(placed.judge(), Contains(AllOf(Broke(kLiveOverlap), Says("its scratch"))));
}

TEST(Scratch, IsRefusedOutsideTheArena) {
  Placed placed(two_with_scratch(1000), Sequential(2));
  ASSERT_THAT(placed.place(), Works());
  placed.placement.arena_bytes = 512;
  EXPECT_THAT(placed.judge(), Contains(AllOf(Broke(kViewOutsideBuffer), Says("scratch"))));
}

TEST(Scratch, IsPrinted) {
  Placed placed(two_with_scratch(1000), Sequential(2));
  ASSERT_THAT(placed.place(), Works());
  EXPECT_THAT(to_string(placed.placement, placed.plan->buffers(), placed.plan->graph()),
              HasSubstr("scratch of step 0  1000 bytes at 0\n"));
}

TEST(Scratch, OfNoBytesIsNotPrinted) {
  Placed placed(two_with_scratch(0), Sequential(2));
  ASSERT_THAT(placed.place(), Works());
  EXPECT_EQ(to_string(placed.placement, placed.plan->buffers(), placed.plan->graph()),
            "placement  0 buffers in 0 bytes\n");
}

/// One op whose body says this of its scratch.
Graph asking(CountingBody::Scratch scratch) {
  GraphBuilder builder;
  const ValueId x = builder.input("x", kRow);
  builder.op({.name = "only",
              .reads = {x},
              .body = std::make_shared<CountingBody>(mix(1), std::move(scratch))});
  return builder.build().value();
}

TEST(Scratch, OfNegativeSizeIsRefused) {
  EXPECT_THAT(Placed(asking([](const BindArgs&) { return -1; }), Sequential(2)).place(),
              RefusedSaying(kBodyFailed, "only on microbatch 0: asks for -1 bytes"));
}

TEST(Scratch, BeyondAllMemoryIsRefused) {
  const auto huge = [](const BindArgs&) { return std::int64_t{1} << 60; };
  EXPECT_THAT(Placed(asking(huge), Sequential(2)).place(), RefusedBy(kBodyFailed));
}

TEST(Scratch, ThatCannotBeToldIsRefused) {
  const auto refuse = [](const BindArgs&) -> std::int64_t { throw std::runtime_error("odd size"); };
  EXPECT_THAT(Placed(asking(refuse), Sequential(2)).place(),
              RefusedSaying(kBodyFailed, "only on microbatch 0: odd size"));
}

TEST(Scratch, IsAskedForOncePerSize) {
  GraphBuilder builder;
  const auto body = std::make_shared<CountingBody>(mix(1));
  ValueId at = builder.input("x", kRow);
  for (int i = 0; i < 10; ++i) {
    const ValueId next = builder.value("v" + std::to_string(i), kRow);
    builder.op({.name = "op" + std::to_string(i), .reads = {at}, .writes = {next}, .body = body});
    at = next;
  }
  Placed placed(builder.build().value(), Sequential(2));
  ASSERT_THAT(placed.place(), Works());
  EXPECT_EQ(body->scratch_asked(), 2);  // 3 rows and 5 rows
}

}  // namespace
}  // namespace dynaflow::testing
