// Sizes that depend on symbols, and values that hold the batch inside: what a graph may say of
// them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <numeric>

#include "dynaflow/graph/builder.h"
#include "support/findings.h"
#include "support/models.h"

namespace dynaflow::testing {
namespace {

using ::testing::ElementsAre;

Type row_of(const Extent& elements) { return {Kind::kSplit, DType::kI64, elements}; }

TEST(Symbols, AreNamedInTheOrderOfTheirIds) {
  GraphBuilder builder;
  builder.symbol("length");
  builder.symbol("width");
  EXPECT_THAT(builder.build().value().symbols(), ElementsAre("length", "width"));
}

TEST(Symbols, HaveNamesOfTheirOwn) {
  GraphBuilder builder;
  builder.input("length", kRow);
  builder.symbol("length");
  EXPECT_THAT(builder.build(), RefusedSaying(kDuplicateName, "symbol 'length'"));
}

TEST(Symbols, OfAnotherBuilderAreRefused) {
  GraphBuilder builder;
  builder.input("x", row_of(SymbolId{3}));
  EXPECT_THAT(builder.build(), RefusedSaying(kUnknownOperand, "'x'"));
}

TEST(Symbols, InTheBlocksOfAnotherBuilderAreRefused) {
  GraphBuilder builder;
  builder.input(ValueSpec{.name = "x", .type = row_of(8), .blocks = SymbolId{3}});
  EXPECT_THAT(builder.build(), RefusedSaying(kUnknownOperand, "'x'"));
}

TEST(SymbolicSizes, AreViewedAsAWhole) {
  GraphBuilder builder;
  const SymbolId length = builder.symbol("length");
  const ValueId x = builder.input("x", row_of(length));
  builder.view("all", x, 0, length);
  EXPECT_THAT(builder.build(), Works());
}

TEST(SymbolicSizes, AreNotViewedInPart) {
  GraphBuilder builder;
  const ValueId x = builder.input("x", row_of(builder.symbol("length")));
  builder.view("head", x, 0, 1);
  EXPECT_THAT(builder.build(), RefusedSaying(kBadType, "'head' is of a part of 'x'"));
}

TEST(SymbolicSizes, AreNotViewedFromWithin) {
  GraphBuilder builder;
  const SymbolId length = builder.symbol("length");
  const ValueId x = builder.input("x", row_of(length));
  builder.view("tail", x, 1, length);
  EXPECT_THAT(builder.build(), RefusedSaying(kBadType, "'tail'"));
}

TEST(SymbolicSizes, AreNoPartOfAConstantOne) {
  GraphBuilder builder;
  const SymbolId length = builder.symbol("length");
  builder.view("some", builder.input("x", kRow), 0, length);
  EXPECT_THAT(builder.build(), RefusedSaying(kBadType, "'some' reaches outside 'x'"));
}

TEST(SymbolicSizes, OrderWhoeverTouchesThem) {
  GraphBuilder builder;
  const SymbolId length = builder.symbol("length");
  const ValueId x = builder.input("x", row_of(1));
  const ValueId u = builder.value("u", row_of(length));
  builder.op({.name = "make", .reads = {x}, .writes = {u}});
  const OpId use = builder.op({.name = "use", .reads = {builder.view("v", u, 0, length)}});
  EXPECT_THAT(builder.build().value().predecessors(use),
              ElementsAre(Dependency{OpId{0}, Rows::kOwn}));
}

TEST(Blocks, AreKeptByTheStorage) {
  GraphBuilder builder;
  const SymbolId length = builder.symbol("length");
  builder.input(
      ValueSpec{.name = "x", .type = row_of(Extent(length) * 8), .blocks = Extent(length)});
  EXPECT_EQ(builder.build().value().storages()[0].blocks, Extent(length));
}

TEST(Blocks, AreViewedAsAWhole) {
  GraphBuilder builder;
  const ValueId x = builder.input(ValueSpec{.name = "x", .type = row_of(4), .blocks = 2});
  builder.view("head", x, 0, 2);
  EXPECT_THAT(builder.build(), RefusedSaying(kBadType, "'head' is of a part of 'x'"));
}

TEST(Blocks, DivideARow) {
  GraphBuilder builder;
  builder.value({.name = "x", .type = row_of(5), .blocks = 2});
  EXPECT_THAT(builder.build(), RefusedSaying(kBadType, "5 elements in 2 blocks"));
}

TEST(Blocks, AreAtLeastOne) {
  GraphBuilder builder;
  builder.value({.name = "x", .type = row_of(5), .blocks = 0});
  EXPECT_THAT(builder.build(), RefusedSaying(kBadType, "5 elements in 0 blocks"));
}

TEST(Blocks, NeedRows) {
  GraphBuilder builder;
  builder.value({.name = "w", .type = {Kind::kWhole, DType::kI64, 4}, .blocks = 2});
  EXPECT_THAT(builder.build(), RefusedSaying(kBadType, "'w' has blocks"));
}

TEST(Blocks, NeedAKnownPlace) {
  GraphBuilder builder;
  builder.value({.name = "k", .type = row_of(4), .size = ValueSpec::Size::kUnplaced, .blocks = 2});
  EXPECT_THAT(builder.build(), RefusedSaying(kBadType, "'k' has blocks"));
}

TEST(GraphBuilder, RefusesAnInputOfUnknownSize) {
  GraphBuilder builder;
  builder.input(ValueSpec{.name = "x", .type = kRow, .size = ValueSpec::Size::kUnplaced});
  EXPECT_THAT(builder.build(), RefusedSaying(kKindMismatch, "'x' is unplaced"));
}

/// Two blocks of three rows of two numbers, counted from 0 in memory.
class InsideOut : public ::testing::Test {
 protected:
  InsideOut() { std::iota(numbers_.begin(), numbers_.end(), 0); }

  std::array<std::int64_t, 12> numbers_{};
  /// The last two of the three rows.
  View view_{.data = reinterpret_cast<std::byte*>(numbers_.data() + 2),
             .rows = 2,
             .row_stride = 16,
             .elements = 4,
             .dtype = DType::kI64,
             .blocks = 2,
             .block_stride = 48};
};

TEST_F(InsideOut, AViewFindsARowInEachBlock) {
  EXPECT_THAT(view_.row<std::int64_t>(1, 0), ElementsAre(4, 5));
  EXPECT_THAT(view_.row<std::int64_t>(1, 1), ElementsAre(10, 11));
}

TEST_F(InsideOut, AViewHasNoRowInOnePiece) {
  EXPECT_THROW((void)view_.row<std::int64_t>(0), std::invalid_argument);
}

}  // namespace
}  // namespace dynaflow::testing
