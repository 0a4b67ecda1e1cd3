#include "dynaflow/base/id.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <type_traits>
#include <vector>

namespace dynaflow::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::vector<std::uint32_t> indices(MicrobatchRange range) {
  std::vector<std::uint32_t> found;
  for (const Microbatch mb : range) found.push_back(mb.index);
  return found;
}

TEST(Id, IsInvalidByDefault) { EXPECT_FALSE(OpId{}.valid()); }

TEST(Id, IsValidWithAnIndex) { EXPECT_TRUE(OpId{0}.valid()); }

TEST(Id, IsOrderedByIndex) { EXPECT_LT(OpId{1}, OpId{2}); }

TEST(Id, OfOneNounIsNoIdOfAnother) { EXPECT_FALSE((std::is_convertible_v<OpId, LaneId>)); }

TEST(Id, IsMadeFromASize) { EXPECT_EQ(id_at<StepId>(std::size_t{7}), StepId{7}); }

TEST(MicrobatchRange, IteratesOverItsMicrobatches) {
  EXPECT_THAT(indices({2, 5}), ElementsAre(2, 3, 4));
}

TEST(MicrobatchRange, MayBeEmpty) { EXPECT_THAT(indices({3, 3}), IsEmpty()); }

TEST(MicrobatchRange, OfOneHasOne) {
  EXPECT_EQ(MicrobatchRange::of(Microbatch{4}), (MicrobatchRange{4, 5}));
}

TEST(MicrobatchRange, CountsItsMicrobatches) { EXPECT_EQ((MicrobatchRange{2, 5}.count()), 3U); }

TEST(MicrobatchRange, ContainsItsFirst) {
  EXPECT_TRUE((MicrobatchRange{2, 5}.contains(Microbatch{2})));
}

TEST(MicrobatchRange, DoesNotContainItsEnd) {
  EXPECT_FALSE((MicrobatchRange{2, 5}.contains(Microbatch{5})));
}

TEST(MicrobatchRange, OverlapsWhatSharesOne) {
  EXPECT_TRUE((MicrobatchRange{2, 5}.overlaps({4, 9})));
}

TEST(MicrobatchRange, DoesNotOverlapItsNeighbour) {
  EXPECT_FALSE((MicrobatchRange{2, 5}.overlaps({5, 9})));
}

}  // namespace
}  // namespace dynaflow::testing
