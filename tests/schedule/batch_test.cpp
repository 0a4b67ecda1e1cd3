#include "dynaflow/schedule/batch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "dynaflow/schedule/verify.h"
#include "support/findings.h"

namespace dynaflow::testing {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(BatchWhole, WantsNoSchedule) {
  EXPECT_EQ(Batch{.rows = 7}.whole().path, Split::Path::kUnscheduled);
  EXPECT_EQ(Batch{.rows = 7}.even(1).path, Split::Path::kScheduled);
}

TEST(BatchWhole, IsOneMicrobatch) { EXPECT_THAT(Batch{.rows = 7}.whole().sizes, ElementsAre(7)); }

TEST(BatchWhole, OfNothingIsOneEmptyMicrobatch) {
  EXPECT_THAT(Batch{.rows = 0}.whole().sizes, ElementsAre(0));
}

TEST(BatchEven, GivesTheFirstPartsOneRowMore) {
  EXPECT_THAT(Batch{.rows = 11}.even(4).sizes, ElementsAre(3, 3, 3, 2));
}

TEST(BatchEven, OfOnePartIsTheWholeBatch) {
  EXPECT_EQ(Batch{.rows = 5}.even(1).sizes, Batch{.rows = 5}.whole().sizes);
}

TEST(BatchEven, GivesEmptyPartsWhereThereAreMorePartsThanRows) {
  EXPECT_THAT(Batch{.rows = 2}.even(4).sizes, ElementsAre(1, 1, 0, 0));
}

TEST(BatchEven, OfNothingIsEmptyParts) {
  EXPECT_THAT(Batch{.rows = 0}.even(3).sizes, ElementsAre(0, 0, 0));
}

TEST(BatchEven, OfNoPartsIsNoSplit) { EXPECT_THAT(Batch{.rows = 4}.even(0).sizes, IsEmpty()); }

TEST(BatchEven, OfLessThanNoPartsIsNoSplit) {
  EXPECT_THAT(Batch{.rows = 4}.even(-2).sizes, IsEmpty());
}

TEST(BatchBySizes, TakesTheSizesAsTheyAre) {
  EXPECT_THAT(Batch{.rows = 9}.by_sizes({2, 0, 7}).sizes, ElementsAre(2, 0, 7));
}

TEST(BatchAtRequests, CutsBetweenRequests) {
  const Batch batch{.rows = 10, .requests = {3, 3, 4}};
  EXPECT_THAT(batch.at_requests(2).sizes, ElementsAre(6, 4));
}

TEST(BatchAtRequests, PutsEachBorderAsNearToEvenAsItCan) {
  const Batch batch{.rows = 100, .requests = {30, 30, 5, 5, 30}};
  EXPECT_THAT(batch.at_requests(2).sizes, ElementsAre(60, 40));
}

TEST(BatchAtRequests, LeavesPartsEmptyWhereThereAreMorePartsThanRequests) {
  const Batch batch{.rows = 8, .requests = {8}};
  EXPECT_THAT(batch.at_requests(3).sizes, ElementsAre(0, 8, 0));
}

TEST(BatchAtRequests, AreRefusedWhereTheyDoNotSumToTheBatch) {
  const Batch batch{.rows = 10, .requests = {2, 2}};
  ASSERT_EQ(verify(batch, batch.at_requests(2)).size(), 1U);
  EXPECT_EQ(verify(batch, batch.at_requests(2))[0].rule.id, kBatchNotCovered.id);
}

TEST(BatchAtRequests, CutsAnywhereWhereThereAreNoRequests) {
  const Batch batch{.rows = 8};
  EXPECT_THAT(batch.at_requests(2).sizes, ElementsAre(4, 4));
}

TEST(BatchAtRequests, OfNothingIsEmptyParts) {
  EXPECT_THAT(Batch{.rows = 0}.at_requests(2).sizes, ElementsAre(0, 0));
}

TEST(Split, PrintsItsSizes) { EXPECT_EQ(to_string(Split{{3, 0, 4}}), "3+0+4"); }

TEST(Split, OfNothingPrintsThat) { EXPECT_EQ(to_string(Split{}), "nothing"); }

TEST(RuleS2, AcceptsASplitThatCoversTheBatch) {
  EXPECT_THAT(verify(Batch{.rows = 8}, Split{{5, 0, 3}}), IsEmpty());
}

TEST(RuleS2, AcceptsAnEmptyBatchInOneMicrobatch) {
  EXPECT_THAT(verify(Batch{.rows = 0}, Split{{0}}), IsEmpty());
}

TEST(RuleS2, RefusesASplitThatLosesRows) {
  EXPECT_THAT(verify(Batch{.rows = 8}, Split{{4, 3}}),
              ElementsAre(AllOf(Broke(kBatchNotCovered), Says("4+3"), Says("8 rows"))));
}

TEST(RuleS2, RefusesASplitThatRepeatsRows) {
  EXPECT_THAT(verify(Batch{.rows = 8}, Split{{8, 8}}), ElementsAre(Broke(kBatchNotCovered)));
}

TEST(RuleS2, RefusesASplitIntoNothing) {
  EXPECT_THAT(verify(Batch{.rows = 0}, Split{}), ElementsAre(Broke(kBatchNotCovered)));
}

TEST(RuleS2, RefusesANegativeSizeThatSumsUp) {
  EXPECT_THAT(verify(Batch{.rows = 8}, Split{{10, -2}}), ElementsAre(Broke(kBatchNotCovered)));
}

TEST(RuleS2, RefusesSizesThatSumUpOnlyByOverflow) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  EXPECT_THAT(verify(Batch{.rows = 8}, Split{{kMost, kMost, 10}}),
              ElementsAre(Broke(kBatchNotCovered)));
}

TEST(RuleS2, RefusesANegativeBatch) {
  const Batch batch{.rows = -1};
  EXPECT_THAT(verify(batch, batch.whole()), ElementsAre(Broke(kBatchNotCovered)));
}

TEST(RuleS2, NamesTheFunctionToMend) {
  EXPECT_THAT(verify(Batch{.rows = 8}, Split{}), ElementsAre(At("split")));
}

}  // namespace
}  // namespace dynaflow::testing
