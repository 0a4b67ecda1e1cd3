#include "dynaflow/graph/extent.h"

#include <gtest/gtest.h>

#include <array>
#include <limits>
#include <string>

#include "dynaflow/graph/type.h"

namespace dynaflow::testing {
namespace {

constexpr SymbolId kLength{0};
constexpr SymbolId kWidth{1};
const std::array<std::string, 2> kNames{"length", "width"};

std::int64_t evaluated(const Extent& extent, std::int64_t length, std::int64_t width = 0) {
  return extent.evaluate(std::array{length, width});
}

TEST(Extent, OfANumberIsThatNumber) { EXPECT_EQ(Extent(7).evaluate({}), 7); }

TEST(Extent, OfANumberIsConstant) { EXPECT_TRUE(Extent(7).is_constant()); }

TEST(Extent, OfASymbolIsItsValue) { EXPECT_EQ(evaluated(kLength, 5), 5); }

TEST(Extent, OfASymbolIsNotConstant) { EXPECT_FALSE(Extent(kLength).is_constant()); }

TEST(Extent, AddsAndMultiplies) {
  EXPECT_EQ(evaluated((Extent(kLength) + 2) * (Extent(kWidth) + 3), 5, 7), 70);
}

TEST(Extent, MultipliesByItself) {
  Extent squared = Extent(kLength) + 1;
  squared *= squared;
  EXPECT_EQ(evaluated(squared, 4), 25);
}

TEST(Extent, AddsItself) {
  Extent doubled = Extent(kLength) + 1;
  doubled += doubled;
  EXPECT_EQ(evaluated(doubled, 4), 10);
}

TEST(Extent, IsEqualHoweverItWasMade) {
  EXPECT_EQ((Extent(kLength) + kWidth) * 2, Extent(kWidth) * 2 + Extent(2) * kLength);
}

TEST(Extent, DoesNotMindTheOrderOfFactors) {
  EXPECT_EQ(Extent(kLength) * kWidth, Extent(kWidth) * kLength);
}

TEST(Extent, IsConstantAgainWhereSymbolsCancel) {
  EXPECT_EQ(Extent(kLength) + 4 + Extent(kLength) * -1, Extent(4));
}

TEST(Extent, TimesZeroIsZero) { EXPECT_EQ(Extent(kLength) * 0, Extent(0)); }

TEST(Extent, OfDifferentSymbolsDiffers) { EXPECT_NE(Extent(kLength), Extent(kWidth)); }

TEST(Extent, IsTooLargeWhereItDoesNotFit) {
  EXPECT_EQ(evaluated(Extent(kLength) * kLength, std::int64_t{1} << 40), Extent::kTooLarge);
}

TEST(Extent, StaysTooLargeWhateverIsTakenOff) {
  const Extent square = Extent(kLength) * kLength;
  EXPECT_EQ(evaluated(square + square * kLength * -1, std::int64_t{1} << 40), Extent::kTooLarge);
}

TEST(Extent, OfNumbersTooLargeStopsAtTheEnd) {
  const Extent most = std::numeric_limits<std::int64_t>::max();
  EXPECT_EQ((most * 2).constant(), std::numeric_limits<std::int64_t>::max());
  EXPECT_EQ((most * -2).constant(), std::numeric_limits<std::int64_t>::min());
}

TEST(Extent, PrintsTheNamesOfItsSymbols) {
  EXPECT_EQ(to_string(Extent(kLength) * kLength * 2 + kWidth + 1, kNames),
            "2*length*length+width+1");
}

TEST(Extent, PrintsWhatIsTakenOff) {
  EXPECT_EQ(to_string(Extent(kLength) * -1 + -3, kNames), "-length-3");
}

TEST(Extent, PrintsASymbolWithoutANameByItsNumber) {
  EXPECT_EQ(to_string(Extent(kWidth) * 8), "8*s1");
}

TEST(Extent, PrintsZero) { EXPECT_EQ(to_string(Extent(0)), "0"); }

TEST(Type, PrintsASymbolicSize) {
  EXPECT_EQ(to_string(Type{Kind::kSplit, DType::kF32, Extent(kLength) * 64}, kNames),
            "split f32[rows, 64*length]");
}

TEST(Type, OfSymbolicSizeHasSymbolicBytes) {
  EXPECT_EQ((Type{Kind::kSplit, DType::kF32, kLength}.bytes()), Extent(kLength) * 4);
}

TEST(DType, KnowsTheSizeOfEach) {
  EXPECT_EQ(size_of(DType::kBool), 1);
  EXPECT_EQ(size_of(DType::kU8), 1);
  EXPECT_EQ(size_of(DType::kI16), 2);
  EXPECT_EQ(size_of(DType::kC64), 8);
  EXPECT_EQ(size_of(DType::kC128), 16);
}

TEST(DType, KnowsTheNameOfEach) {
  EXPECT_EQ(to_string(DType::kBool), "bool");
  EXPECT_EQ(to_string(DType::kU8), "u8");
  EXPECT_EQ(to_string(DType::kI16), "i16");
  EXPECT_EQ(to_string(DType::kC64), "c64");
  EXPECT_EQ(to_string(DType::kC128), "c128");
}

}  // namespace
}  // namespace dynaflow::testing
