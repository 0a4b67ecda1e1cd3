#include "dynaflow/timeline/timeline.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace dynaflow {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::StartsWith;

Timeline::Span span(std::uint32_t step, std::uint32_t lane, std::string label, std::int64_t begin,
                    std::int64_t end) {
  return {{step}, {lane}, std::move(label), CostClass::kCompute, begin, end};
}

/// Two halves of a layer: the network lane reduces one while the other computes.
Timeline leapfrog() {
  return {{"compute", "network"},
          {span(0, 0, "attn.0", 0, 2000), span(1, 0, "attn.1", 2000, 4000),
           span(2, 1, "ar.0", 2000, 3500), span(3, 1, "ar.1", 4000, 5500),
           span(4, 0, "mlp.0", 4000, 7000), span(5, 0, "mlp.1", 7000, 10000)},
          10000};
}

/// `count` steps of 1 us back to back on one lane, then as long a time without any.
Timeline long_run(std::int64_t count) {
  Timeline timeline{{"compute"}, {}, 2000 * count};
  for (std::int64_t i = 0; i < count; ++i) {
    const auto step = static_cast<std::uint32_t>(i);
    timeline.spans.push_back(span(step, 0, "op." + std::to_string(i), 1000 * i, 1000 * (i + 1)));
  }
  return timeline;
}

/// The drawing of one lane alone, between its two borders.
std::string bars(const Timeline& timeline, int width) {
  const std::string text = to_string(timeline, width);
  const std::size_t first = text.find('|') + 1;
  return text.substr(first, text.find('|', first) - first);
}

TEST(Timeline, DrawsABarWithItsLabelPerStep) {
  EXPECT_EQ(to_string(leapfrog(), 50), R"(timeline  2 lanes, 6 steps, 10.0 us, 3.0 us overlapped
  compute |[attn.0  ][attn.1  ][mlp.0        ][mlp.1        ]| 100 %
  network |          [ar.0  ]  [ar.1  ]                      |  30 %
          |0                     5.0 us               10.0 us|
)");
}

TEST(Timeline, FillsABarWhoseLabelDoesNotFit) {
  EXPECT_EQ(bars({{"a"}, {span(0, 0, "attention.0", 0, 500)}, 1000}, 20), "[########]          ");
}

TEST(Timeline, DrawsAnEmptyRun) {
  EXPECT_EQ(to_string(Timeline{}, 20), R"(timeline  0 lanes, 0 steps, 0 ns, 0 ns overlapped
   |0               0 ns|
)");
}

TEST(Timeline, DrawsALaneWithoutSteps) {
  EXPECT_EQ(bars({{"idle"}, {}, 1000}, 20), std::string(20, ' '));
}

TEST(Timeline, MarksAStepWithoutLength) {
  EXPECT_EQ(bars({{"a"}, {span(0, 0, "op.0", 500, 500)}, 1000}, 20), "          .         ");
}

TEST(Timeline, MarksAStepWithoutLengthAtTheVeryEnd) {
  EXPECT_THAT(bars({{"a"}, {span(0, 0, "op.0", 1000, 1000)}, 1000}, 20), EndsWith(" ."));
}

TEST(Timeline, MarksAllStepsOfARunThatTookNoTime) {
  EXPECT_EQ(bars({{"a"}, {span(0, 0, "op.0", 0, 0), span(1, 0, "op.1", 0, 0)}, 0}, 20),
            ".                   ");
}

TEST(Timeline, ShadesTimeThatShortStepsFill) {
  EXPECT_EQ(bars(long_run(100'000), 20), "##########          ");
}

TEST(Timeline, ShadesByHowMuchOfACharacterIsFilled) {
  const Timeline timeline{
      {"a"},
      {span(0, 0, "a.0", 0, 10), span(1, 0, "b.0", 100, 150), span(2, 0, "c.0", 200, 290)},
      2000};
  EXPECT_THAT(bars(timeline, 20), StartsWith(".:# "));
}

TEST(Timeline, AddsUpShortStepsOfOneCharacter) {
  const Timeline timeline{{"a"}, {span(0, 0, "a.0", 0, 30), span(1, 0, "b.0", 40, 80)}, 2000};
  EXPECT_THAT(bars(timeline, 20), StartsWith("# "));
}

TEST(Timeline, KeepsEveryLineAsWideAsTheOthers) {
  const std::string text = to_string(long_run(100'000), 100);
  EXPECT_THAT(text, HasSubstr("|" + std::string(50, '#') + std::string(50, ' ') + "|  50 %\n"));
}

TEST(Timeline, HoldsItsShapeWhenNoWidthIsGiven) { EXPECT_EQ(bars(long_run(4), 0).size(), 16u); }

TEST(Timeline, NamesDurationsInFittingUnits) {
  EXPECT_THAT(to_string(Timeline{{}, {}, 999}), HasSubstr(" 999 ns,"));
  EXPECT_THAT(to_string(Timeline{{}, {}, 999'949}), HasSubstr(" 999.9 us,"));
  EXPECT_THAT(to_string(Timeline{{}, {}, 999'950}), HasSubstr(" 1.0 ms,"));
  EXPECT_THAT(to_string(Timeline{{}, {}, 7'200'000'000'000}), HasSubstr(" 7200.0 s,"));
}

TEST(Timeline, IsPlainAscii) {
  const std::string text = to_string(leapfrog());
  EXPECT_TRUE(std::all_of(text.begin(), text.end(), [](char c) { return c > 0; }));
}

TEST(Timeline, PrintsTheSameTwice) { EXPECT_EQ(to_string(leapfrog()), to_string(leapfrog())); }

TEST(Timeline, CountsOneLaneAsBusy) {
  EXPECT_EQ(busy_ns(leapfrog(), LaneId{0}), 10000);
  EXPECT_EQ(busy_ns(leapfrog(), LaneId{1}), 3000);
}

TEST(Timeline, CountsTimeInWhichTwoLanesAreBusy) { EXPECT_EQ(overlapped_ns(leapfrog()), 3000); }

TEST(Timeline, CountsAMomentOnceHoweverManyLanesAreBusy) {
  const Timeline timeline{
      {"a", "b", "c"},
      {span(0, 0, "a", 0, 100), span(1, 1, "b", 20, 60), span(2, 2, "c", 40, 80)},
      100};
  EXPECT_EQ(overlapped_ns(timeline), 60);
}

TEST(Timeline, SeesNoOverlapWhereOneEndsAsTheOtherBegins) {
  EXPECT_EQ(overlapped_ns({{"a", "b"}, {span(0, 0, "a", 0, 50), span(1, 1, "b", 50, 90)}, 90}), 0);
}

TEST(Timeline, SeesNoOverlapWithAStepWithoutLength) {
  EXPECT_EQ(overlapped_ns({{"a", "b"}, {span(0, 0, "a", 0, 50), span(1, 1, "b", 20, 20)}, 50}), 0);
}

}  // namespace
}  // namespace dynaflow
