#include "import/rows/quotient.h"

#include <gtest/gtest.h>

namespace dynaflow::rows {
namespace {

const Extent kA{SymbolId{0}};
const Extent kB{SymbolId{1}};

TEST(Quotient, OfProductsDropsFactors) {
  EXPECT_EQ(quotient(kA * kB * Extent(6), kB * Extent(2)), kA * Extent(3));
}

TEST(Quotient, OfSumsIsExact) {
  EXPECT_EQ(quotient((kA + Extent(1)) * (kB * kB + kA), kA + Extent(1)), kB * kB + kA);
}

TEST(Quotient, WithARestIsNone) {
  EXPECT_EQ(quotient(kA * Extent(3), Extent(2)), std::nullopt);
  EXPECT_EQ(quotient(kA + Extent(1), kA), std::nullopt);
  EXPECT_EQ(quotient(kA, kB), std::nullopt);
}

TEST(Quotient, ByZeroIsNone) {
  EXPECT_EQ(quotient(kA, Extent(0)), std::nullopt);
  EXPECT_EQ(quotient(Extent(0), Extent(0)), std::nullopt);
}

}  // namespace
}  // namespace dynaflow::rows
