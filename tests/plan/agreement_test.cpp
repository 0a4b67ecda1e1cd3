#include "dynaflow/plan/agreement.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "dynaflow/schedule/op_scheduler.h"
#include "dynaflow/strategies/comm_overlap.h"
#include "dynaflow/strategies/strategies.h"
#include "support/models.h"

namespace dynaflow::testing {
namespace {

using ::testing::HasSubstr;

std::string text_of(const OpScheduler& strategy, const Split& split,
                    const std::string& group = "tp") {
  const Model model = two_layers();
  const Plan plan = make_plan(model.graph, record(model.graph, strategy, split));
  return agreement_text(model.graph, plan, split, {}, group);
}

TEST(Agreement, HasALineForEachStepAndTheSizesOfTransfers) {
  EXPECT_THAT(text_of(CommOverlap(2), Split{{3, 1}}),
              HasSubstr("strategy CommOverlap, 2 microbatches, group tp\n"
                        "compute attn0.0\n"
                        "network reduce0.0 9 i64 9 i64\n"
                        "compute attn0.1\n"
                        "network2 reduce0.1 3 i64 3 i64\n"));
}

TEST(Agreement, LeavesTheSizesOfOtherGroupsOut) {
  EXPECT_THAT(text_of(CommOverlap(2), Split{{3, 1}}, "dp"), HasSubstr("network reduce0.0\n"));
}

TEST(Agreement, LeavesSizesOpenThatMayDiffer) {
  GraphBuilder builder;
  const ValueId x = builder.input("x", kRow);
  const ValueId y = builder.value("y", kRow);
  builder.op({.name = "exchange",
              .reads = {x},
              .writes = {y},
              .tags = {"network", "uneven"},
              .cost = CostClass::kNetwork,
              .group = "ep",
              .kernel = [](const KernelArgs&) {}});
  builder.output(y);
  const Graph graph = builder.build().value();
  const Split split{{4}};
  const Plan plan = make_plan(graph, record(graph, Sequential(), split));
  EXPECT_THAT(agreement_text(graph, plan, split, {}, "ep"),
              HasSubstr("main exchange.0 some i64 some i64\n"));
}

TEST(Agreement, HasADigestThatSizesOfTransfersAndOrderChange) {
  const std::string two = digest_of(text_of(CommOverlap(2), Split{{2, 2}}));
  EXPECT_EQ(two, digest_of(text_of(CommOverlap(2), Split{{2, 2}})));
  EXPECT_NE(two, digest_of(text_of(CommOverlap(2), Split{{3, 1}})));
  EXPECT_NE(two, digest_of(text_of(Leapfrog(2), Split{{2, 2}})));
}

TEST(Agreement, DigestIsTheSameOnEveryMachine) { EXPECT_EQ(digest_of("a"), "af63dc4c8601ec8c"); }

TEST(FirstDifference, IsTheLineAndBothWords) {
  EXPECT_EQ(first_difference("a\nb\n", "a\nc\n"), "line 2 of the plan: \"b\" here, \"c\" there");
  EXPECT_EQ(first_difference("a\n", "a\nc\n"), "line 2 of the plan: \"nothing\" here, \"c\" there");
  EXPECT_EQ(first_difference("a\n", "a\n"), "");
}

}  // namespace
}  // namespace dynaflow::testing
