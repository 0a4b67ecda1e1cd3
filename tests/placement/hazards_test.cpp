#include "dynaflow/placement/hazards.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "dynaflow/dynaflow.h"
#include "support/models.h"
#include "support/scripted.h"

namespace dynaflow::testing {
namespace {

using ::testing::IsEmpty;

/// Every hazard of a verified plan for these sizes.
std::vector<Hazard> hazards_of(const Graph& graph, const OpScheduler& strategy,
                               const Split& split) {
  const auto placed =
      make_placed_plan(std::make_shared<const Graph>(graph), strategy, split).value();
  Placement placement;
  EXPECT_TRUE(placed->place(split, {}, placement).has_value());
  return find_hazards(graph, placed->plan(), placed->buffers(), placement,
                      placed->happens_before());
}

TEST(Hazards, AreNoneInAVerifiedPlan) {
  EXPECT_THAT(hazards_of(two_layers().graph, Leapfrog(3), Split{{3, 1, 2}}), IsEmpty());
}

TEST(Hazards, AreNoneWhereMicrobatchesAreEmpty) {
  EXPECT_THAT(hazards_of(two_layers().graph, Leapfrog(3), Split{{0, 4, 0}}), IsEmpty());
}

TEST(Hazards, AreNoneWhereThereAreNoRows) {
  EXPECT_THAT(hazards_of(with_sum().graph, Sequential(2), Split{{0, 0}}), IsEmpty());
}

/// An unplaced value that a collective reads: on an empty micro-batch only the collective runs.
TEST(Hazards, AreNoneWhereACollectiveReadsAnUnplacedValueOfNoRows) {
  GraphBuilder builder;
  const ValueId x = builder.input("x", kRow);
  const ValueId k = builder.value({"k", kRow, ValueSpec::Size::kUnplaced});
  const ValueId y = builder.value("y", kRow);
  builder.op({.name = "route", .reads = {x}, .writes = {k}});
  builder.op({.name = "dispatch", .reads = {k}, .writes = {y}, .group = "ep"});
  builder.output(y);
  EXPECT_THAT(hazards_of(builder.build().value(), Sequential(2), Split{{0, 4}}), IsEmpty());
}

}  // namespace
}  // namespace dynaflow::testing
