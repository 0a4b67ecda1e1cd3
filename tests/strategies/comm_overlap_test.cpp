#include "dynaflow/strategies/comm_overlap.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace dynaflow {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr std::int64_t kMs = 1'000'000;

/// Compute and network in proportion to rows, 8 transfers; the whole batch takes their sum.
MeasuredCosts proportional(std::int64_t compute_per_row, std::int64_t network_per_row) {
  MeasuredCosts costs{.machine = "here", .transfers = 8, .points = {}, .slowdowns = {}};
  for (const std::int64_t rows : {1, 16, 64}) {
    costs.points.push_back({rows, rows * compute_per_row, rows * network_per_row, 0,
                            rows * (compute_per_row + network_per_row)});
  }
  return costs;
}

TEST(MeasuredCosts, AreInProportionBetweenSizes) {
  const MeasuredCosts costs = proportional(2 * kMs, kMs);
  EXPECT_EQ(costs.at(8).compute_ns, 16 * kMs);
  EXPECT_EQ(costs.at(40).network_ns, 40 * kMs);
  EXPECT_EQ(costs.at(128).whole_ns, 384 * kMs);
}

TEST(MeasuredCosts, DoNotFallBelowTheSmallestSize) {
  MeasuredCosts costs = proportional(2 * kMs, kMs);
  costs.points.erase(costs.points.begin());
  EXPECT_EQ(costs.at(1), costs.points.front());
}

TEST(MeasuredCosts, OverlapHidesAllButTheEnds) {
  const MeasuredCosts costs = proportional(kMs, kMs);
  EXPECT_EQ(costs.overlapped_ns(64, 2), 64 * kMs + 4 * kMs);
  EXPECT_EQ(costs.overlapped_ns(64, 4), 64 * kMs + 2 * kMs);
}

TEST(MeasuredCosts, OnePartHidesNothing) {
  EXPECT_EQ(proportional(kMs, kMs).overlapped_ns(64, 1), 128 * kMs);
}

TEST(MeasuredCosts, OverlapCannotHideWhatTheProcessorDoesForTheNetwork) {
  MeasuredCosts costs = proportional(kMs, kMs);
  for (auto& point : costs.points) point.network_cpu_ns = point.network_ns;
  EXPECT_EQ(costs.overlapped_ns(64, 2), 128 * kMs);
  EXPECT_EQ(costs.best_parts(64, 4), std::nullopt);
}

TEST(MeasuredCosts, SplitWhereItPays) {
  EXPECT_EQ(proportional(kMs, kMs).best_parts(64, 4), 4) << "66 ms, with two parts 68";
  EXPECT_EQ(proportional(kMs, kMs).best_parts(64, 2), 2);
  EXPECT_EQ(proportional(kMs, kMs / 1000).best_parts(64, 4), std::nullopt);
  EXPECT_EQ(proportional(kMs, kMs).best_parts(1, 4), std::nullopt);
}

TEST(MeasuredCosts, ScheduleOnePartWhereThatPays) {
  MeasuredCosts costs = proportional(kMs, kMs);
  costs.points.front().whole_ns *= 2;
  EXPECT_EQ(costs.best_parts(1, 4), 1);
  costs.slowdowns = {2};
  EXPECT_EQ(costs.best_parts(1, 4), std::nullopt);
}

TEST(MeasuredCosts, DoNotSplitWhatIsFixed) {
  // 10 ms whatever the rows: two halves would take twice as long.
  MeasuredCosts costs{.machine = "here", .transfers = 8, .points = {}, .slowdowns = {}};
  costs.points.push_back({1, 10 * kMs, 10 * kMs, 0, 20 * kMs});
  costs.points.push_back({64, 10 * kMs, 10 * kMs, 0, 20 * kMs});
  EXPECT_EQ(costs.best_parts(64, 4), std::nullopt);
}

TEST(MeasuredCosts, CountWhatOverlapLosesByExperience) {
  MeasuredCosts costs = proportional(kMs, kMs);
  costs.slowdowns = {1, 1.25, 2};
  EXPECT_EQ(costs.expected_ns(64, 2), 68 * kMs * 5 / 4);
  EXPECT_EQ(costs.expected_ns(64, 4), 66 * kMs * 2) << "like the last that was measured";
  EXPECT_EQ(costs.best_parts(64, 4), 2);
  costs.slowdowns = {2};
  EXPECT_EQ(costs.best_parts(64, 4), std::nullopt);
}

TEST(MeasuredCosts, AreWhatARaceOfTheLargestSizeFound) {
  Race race(3);  // whole, in one part, in two
  race.add(std::vector<std::int64_t>{120 * kMs, 136 * kMs, 85 * kMs});
  const MeasuredCosts costs = proportional(kMs, kMs).after(race);
  EXPECT_EQ(costs.at(64).whole_ns, 120 * kMs);
  EXPECT_EQ(costs.expected_ns(64, 1), 136 * kMs);
  EXPECT_EQ(costs.expected_ns(64, 2), 85 * kMs);
  EXPECT_EQ(costs.best_parts(64, 2), 2);
}

TEST(MeasuredCosts, AreSavedAndLoaded) {
  MeasuredCosts costs = proportional(kMs, 3 * kMs);
  costs.slowdowns = {1.125, 1.5};
  const auto loaded = costs_from_json(to_json(costs));
  ASSERT_TRUE(loaded);
  EXPECT_EQ(*loaded, costs);
}

TEST(MeasuredCosts, RefuseOtherDocuments) {
  for (const char* document : {"", "{}", R"({"machine":"x","transfers":0,"points":[]})",
                               R"({"machine":"x","transfers":1,"points":[{"rows":1}]})", "[1]",
                               R"({"machine":"x","transfers":1,"slowdowns":[0],"points":[
                                 {"rows":1,"compute_ns":1,"network_ns":1,"network_cpu_ns":1,
                                  "whole_ns":1}]})"}) {
    const auto loaded = costs_from_json(document);
    ASSERT_FALSE(loaded) << document;
    EXPECT_TRUE(loaded.error().broke(kBadCosts));
    EXPECT_THAT(loaded.error().first().message, HasSubstr("not measured costs"));
  }
}

TEST(CommOverlap, SplitsAsTold) {
  EXPECT_THAT(CommOverlap(3).split({.rows = 7}).sizes, ElementsAre(3, 2, 2));
}

TEST(CommOverlap, SplitsByCosts) {
  const CommOverlap strategy(proportional(kMs, kMs), 2);
  EXPECT_THAT(strategy.split({.rows = 64}).sizes, ElementsAre(32, 32));
  EXPECT_EQ(strategy.split({.rows = 1}).path, Split::Path::kUnscheduled);
}

}  // namespace
}  // namespace dynaflow
