#include "dynaflow/explain/ranks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace dynaflow {
namespace {

using testing::HasSubstr;

struct Sent {
  std::int64_t begin;
  std::int64_t end;
};

/// Transfers "sum.0", "sum.1", ... on a lane of their own, and a step that computes beside them.
Timeline run_of(std::initializer_list<Sent> transfers) {
  Timeline run{.lanes = {"compute", "network"}, .spans = {}, .total_ns = 10'000};
  run.spans.push_back({{0}, {0}, "attn.0", CostClass::kCompute, 0, 10});
  std::uint32_t next = 0;
  for (const Sent& sent : transfers) {
    const std::string label = "sum." + std::to_string(next++);
    run.spans.push_back({{next}, {1}, label, CostClass::kNetwork, sent.begin, sent.end});
  }
  return run;
}

RanksExplanation explained(std::vector<NamedTimeline> runs) { return explain_ranks(runs).value(); }

TEST(ExplainRanks, TellsWaitingFromTheWire) {
  const RanksExplanation found =
      explained({{"a", run_of({{100, 400}, {500, 700}})}, {"b", run_of({{300, 400}, {480, 700}})}});
  EXPECT_EQ(found.ranks[0].network_ns, 500);
  EXPECT_EQ(found.ranks[0].awaited_ns, 200);
  EXPECT_EQ(found.ranks[0].late_ns, 20);
  EXPECT_EQ(found.ranks[1].network_ns, 320);
  EXPECT_EQ(found.ranks[1].awaited_ns, 20);
  EXPECT_EQ(found.ranks[1].late_ns, 200);
  EXPECT_EQ(found.transfers[0].label, "sum.0");
  EXPECT_EQ(found.transfers[0].last, 1U);
  EXPECT_EQ(found.transfers[0].awaited_ns, 200);
  EXPECT_EQ(found.transfers[0].wire_ns, 100);
}

TEST(ExplainRanks, NeedsNoCommonClock) {
  const Timeline a = run_of({{100, 400}, {500, 700}});
  const Timeline b = run_of({{300, 400}, {480, 700}});
  const Timeline later = run_of({{5'300, 5'400}, {5'480, 5'700}});
  const RanksExplanation same = explained({{"a", a}, {"b", b}});
  const RanksExplanation shifted = explained({{"a", a}, {"b", later}});
  EXPECT_EQ(shifted.ranks[1].ahead_ns, 5'000);
  EXPECT_EQ(to_string(shifted), to_string(same));
}

TEST(ExplainRanks, KnowsThatNothingEndsBeforeAllHaveCome) {
  // By most ends the clocks agree, but then the last transfer would end on b before a begins it.
  const RanksExplanation found = explained({{"a", run_of({{0, 100}, {200, 300}, {500, 800}})},
                                            {"b", run_of({{0, 100}, {200, 300}, {350, 400}})}});
  EXPECT_EQ(found.ranks[1].ahead_ns, -100);
  for (const auto& rank : found.ranks) EXPECT_LE(rank.awaited_ns, rank.network_ns);
  for (const auto& transfer : found.transfers) EXPECT_GE(transfer.wire_ns, 0);
}

TEST(ExplainRanks, CountsOnlyWhatOneRankAloneKeepsOthersFrom) {
  const RanksExplanation found = explained(
      {{"a", run_of({{0, 100}})}, {"b", run_of({{50, 100}})}, {"c", run_of({{80, 100}})}});
  EXPECT_EQ(found.ranks[2].late_ns, 30);
  EXPECT_EQ(found.ranks[1].late_ns, 0);
  EXPECT_EQ(found.ranks[0].awaited_ns, 80);
  EXPECT_EQ(found.ranks[1].awaited_ns, 30);
}

TEST(ExplainRanks, SaysItInWords) {
  const std::string text = to_string(explained(
      {{"rank0", run_of({{100, 400}, {500, 700}})}, {"rank1", run_of({{300, 400}, {480, 700}})}}));
  EXPECT_EQ(
      text,
      "ranks  2 ranks, 2 transfers\n"
      "  rank    transfers   of that awaited     late\n"
      "  rank0      500 ns     200 ns (40 %)    20 ns\n"
      "  rank1      320 ns       20 ns (6 %)   200 ns\n"
      "\n"
      "  sum.0 was awaited longest: 200 ns until rank1 came, then 100 ns on the wire.\n"
      "  rank1 came last to 1 of 2 transfers, and the others waited 200 ns for it alone: even "
      "out what ranks compute, or give them more micro-batches to compute meanwhile.\n");
}

TEST(ExplainRanks, IsSilentWhereRanksComeTogether) {
  const std::string text =
      to_string(explained({{"a", run_of({{100, 400}})}, {"b", run_of({{101, 400}})}}));
  EXPECT_THAT(text, testing::Not(HasSubstr("even out")));
}

TEST(ExplainRanks, RefusesRunsWithoutACommonTransfer) {
  const std::vector<NamedTimeline> runs{{"a", run_of({{0, 1}})}, {"b", run_of({})}};
  for (const auto& found : {explain_ranks(runs), explain_ranks({})}) {
    ASSERT_FALSE(found);
    EXPECT_TRUE(found.error().broke(kBadTimeline));
    EXPECT_THAT(found.error().first().message, HasSubstr("no transfer is in all"));
  }
}

}  // namespace
}  // namespace dynaflow
