#include "dynaflow/strategies/strategies.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "dynaflow/dynaflow.h"
#include "support/findings.h"
#include "support/models.h"

namespace dynaflow::testing {
namespace {

std::string picture(const Model& model, const OpScheduler& strategy, std::int64_t rows = 8) {
  const Split split = strategy.split({.rows = rows});
  const auto placed = make_placed_plan(std::make_shared<const Graph>(model.graph), strategy, split);
  return placed ? to_string((*placed)->plan(), model.graph) : to_string(placed.error());
}

TEST(Sequential, IsThePlainModel) {
  EXPECT_EQ(picture(three_in_a_row(), Sequential()),
            "plan  1 microbatch, 1 lane, 3 steps, 0 waits\n"
            "  main | first.0   second.0   third.0\n");
}

TEST(Sequential, FinishesOneMicrobatchBeforeTheNext) {
  EXPECT_EQ(picture(three_in_a_row(), Sequential(2)),
            "plan  2 microbatches, 1 lane, 6 steps, 0 waits\n"
            "  main | first.0   second.0   third.0   first.1   second.1   third.1\n");
}

TEST(Sequential, ComesBackForWhatNeedsTheWholeBatch) {
  EXPECT_EQ(picture(with_mean(), Sequential(2)),
            "plan  2 microbatches, 1 lane, 5 steps, 0 waits\n"
            "  main | pre.0   pre.1   mean.0-1   scale.0   scale.1\n");
}

TEST(Leapfrog, PutsTransfersOnALaneOfTheirOwn) {
  EXPECT_EQ(picture(two_layers(), Leapfrog(2)),
            "plan  2 microbatches, 2 lanes, 12 steps, 8 waits\n"
            "  compute | attn0.0   attn0.1              mlp0.0 <reduce0.0    mlp0.1 <reduce0.1   "
            "attn1.0   attn1.1\n"
            "  network |           reduce0.0 <attn0.0   reduce0.1 <attn0.1                       "
            "          reduce1.0 <attn1.0\n"
            "\n"
            "  compute | mlp1.0 <reduce1.0    mlp1.1 <reduce1.1\n"
            "  network | reduce1.1 <attn1.1\n");
}

TEST(CommOverlap, ComputesOneMicrobatchUpToItsTransferAndThenTheNext) {
  EXPECT_EQ(picture(two_layers(), CommOverlap(2)),
            "plan  2 microbatches, 3 lanes, 12 steps, 8 waits\n"
            "  compute  | attn0.0   attn0.1              mlp0.0 <reduce0.0    attn1.0   mlp0.1 "
            "<reduce0.1    attn1.1\n"
            "  network  |           reduce0.0 <attn0.0                                  reduce1.0 "
            "<attn1.0\n"
            "  network2 |                                reduce0.1 <attn0.1\n"
            "\n"
            "  compute  | mlp1.0 <reduce1.0    mlp1.1 <reduce1.1\n"
            "  network  |\n"
            "  network2 | reduce1.1 <attn1.1\n");
}

TEST(CommOverlap, AsksForNoCoreForTheNetwork) {
  const Model model = two_layers();
  const CommOverlap strategy;
  EXPECT_EQ(record(model.graph, strategy, Split{{4, 4}}).lanes.at(1).share, Share{.cores = 0});
}

TEST(Leapfrog, AsksForNoCoreForTheNetwork) {
  const Model model = two_layers();
  const Leapfrog strategy;
  EXPECT_EQ(record(model.graph, strategy, Split{{4, 4}}).lanes.at(1).share, Share{.cores = 0});
}

TEST(Branches, DealsIndependentOpsOutToTheLanes) {
  EXPECT_EQ(picture(two_branches(), Branches(2)),
            "plan  1 microbatch, 2 lanes, 3 steps, 1 wait\n"
            "  branch0 | left.0    join.0 <right.0\n"
            "  branch1 | right.0\n");
}

TEST(Branches, DealsMicrobatchesOutToo) {
  EXPECT_EQ(picture(three_in_a_row(), Branches(2, 2)),
            "plan  2 microbatches, 2 lanes, 6 steps, 0 waits\n"
            "  branch0 | first.0   second.0   third.0\n"
            "  branch1 | first.1   second.1   third.1\n");
}

TEST(Branches, WithOneLaneIsOneLane) {
  EXPECT_EQ(picture(two_branches(), Branches(1)),
            "plan  1 microbatch, 1 lane, 3 steps, 0 waits\n"
            "  branch0 | left.0   right.0   join.0\n");
}

TEST(Branches, WithoutALaneIsRefusedOrRunsOnOne) {
  EXPECT_EXIT(
      {
        (void)picture(two_branches(), Branches(0));
        std::exit(0);
      },
      ::testing::ExitedWithCode(0), "");
}

/// Every built-in strategy, on any model, in up to five parts.
class EveryStrategy : public ::testing::TestWithParam<int> {
 protected:
  void expect_right(const Model& model) {
    const int parts = GetParam();
    const Batch batch{.rows = 3};
    const auto plain = plain_output(model, batch);
    EXPECT_EQ(output_of(model, std::make_shared<Sequential>(parts), batch), plain);
    EXPECT_EQ(output_of(model, std::make_shared<Leapfrog>(parts), batch), plain);
    EXPECT_EQ(output_of(model, std::make_shared<Branches>(3, parts), batch), plain);
  }
};

TEST_P(EveryStrategy, GivesTheAnswersOfAChain) { expect_right(three_in_a_row()); }
TEST_P(EveryStrategy, GivesTheAnswersOfBranches) { expect_right(two_branches()); }
TEST_P(EveryStrategy, GivesTheAnswersOfACoupledOp) { expect_right(with_mean()); }
TEST_P(EveryStrategy, GivesTheAnswersOfASum) { expect_right(with_sum()); }
TEST_P(EveryStrategy, GivesTheAnswersOfTransfers) { expect_right(two_layers()); }
TEST_P(EveryStrategy, GivesTheAnswersOfUnplacedValues) { expect_right(with_unplaced()); }

INSTANTIATE_TEST_SUITE_P(InParts, EveryStrategy, ::testing::Range(1, 6));

TEST(EveryStrategyInNoParts, IsRefused) {
  EXPECT_THAT(output_of(three_in_a_row(), std::make_shared<Leapfrog>(0), {.rows = 3}),
              RefusedBy(kBatchNotCovered));
}

}  // namespace
}  // namespace dynaflow::testing
