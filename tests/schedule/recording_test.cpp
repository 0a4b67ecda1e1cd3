#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "dynaflow/schedule/op_scheduler.h"
#include "support/models.h"
#include "support/scripted.h"

namespace dynaflow::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

const Split kHalves{{4, 4}};

Schedule recorded(const Graph& graph, const Recorder& recorder, const Split& split = kHalves) {
  return record(graph, Scripted(recorder), split);
}

std::vector<std::string> lane_names(const Schedule& schedule) {
  std::vector<std::string> names;
  for (const LaneRequest& lane : schedule.lanes) names.push_back(lane.name);
  return names;
}

TEST(Recording, KeepsLanesInTheOrderTheyWereAskedFor) {
  const Schedule schedule = recorded(three_in_a_row().graph, [](ScheduleContext& ctx) {
    ctx.lane("network");
    ctx.lane("compute");
  });
  EXPECT_THAT(lane_names(schedule), ElementsAre("network", "compute"));
}

TEST(Recording, MakesALaneOnce) {
  const Schedule schedule = recorded(three_in_a_row().graph, [](ScheduleContext& ctx) {
    ctx.lane("compute");
    ctx.lane("compute");
  });
  EXPECT_THAT(lane_names(schedule), ElementsAre("compute"));
}

TEST(Recording, KeepsTheShareALaneWasFirstAskedForWith) {
  const Schedule schedule = recorded(three_in_a_row().graph, [](ScheduleContext& ctx) {
    ctx.lane("compute", Share{.cores = 2});
    ctx.lane("compute", Share{.cores = 7});
  });
  EXPECT_EQ(schedule.lanes.front().share, Share{.cores = 2});
}

TEST(Recording, NamesALaneWhereNoneWasAskedFor) {
  const Schedule schedule =
      recorded(three_in_a_row().graph, [](ScheduleContext& ctx) { finish(ctx); });
  EXPECT_THAT(lane_names(schedule), ElementsAre("main"));
}

TEST(Recording, PutsAStepWithoutALaneOnTheFirst) {
  const Schedule schedule = recorded(three_in_a_row().graph, [](ScheduleContext& ctx) {
    ctx.lane("first");
    ctx.lane("second");
    finish(ctx);
  });
  EXPECT_EQ(schedule.steps.back().lane, LaneId{0});
}

TEST(Recording, MergesTheSameOpOfSeveralMicrobatches) {
  const Schedule schedule = recorded(
      three_in_a_row().graph, [](ScheduleContext& ctx) { ctx.execute(ctx.get_ready_ops()); });
  EXPECT_THAT(schedule.steps.at(0).microbatches, ElementsAre(Microbatch{0}, Microbatch{1}));
}

TEST(Recording, MakesOneStepPerOpOfAChainWithoutAReplacement) {
  const Schedule schedule = recorded(two_branches().graph, [](ScheduleContext& ctx) {
    ctx.execute(ctx.get_ready_ops(Microbatch{0}));
  });
  EXPECT_EQ(schedule.steps.size(), 2U);
}

TEST(Recording, MakesOneStepOfAReplacedChain) {
  const Schedule schedule = recorded(two_branches().graph, [](ScheduleContext& ctx) {
    ctx.execute(ctx.get_ready_ops(Microbatch{0}), {.replace_func = Replacement{"fused"}});
  });
  EXPECT_EQ(schedule.steps.size(), 1U);
}

TEST(Recording, KeepsTheNameOfTheStrategy) {
  EXPECT_EQ(recorded(three_in_a_row().graph, [](ScheduleContext&) {}).strategy, "Scripted");
}

TEST(Recording, KeepsWhichMicrobatchesAreEmpty) {
  const Schedule schedule =
      recorded(three_in_a_row().graph, [](ScheduleContext&) {}, Split{{4, 0, 4}});
  EXPECT_THAT(schedule.key.empty, ElementsAre(0, 1, 0));
}

TEST(Recording, KeepsNoSizeThatNobodyAskedFor) {
  EXPECT_THAT(recorded(three_in_a_row().graph, [](ScheduleContext&) {}).key.rows_read, IsEmpty());
}

TEST(Recording, KeepsASizeThatWasAskedForOnce) {
  const Schedule schedule = recorded(
      three_in_a_row().graph,
      [](ScheduleContext& ctx) { (void)(ctx.rows(Microbatch{1}) + ctx.rows(Microbatch{1})); },
      Split{{5, 3}});
  EXPECT_THAT(schedule.key.rows_read, ElementsAre(Pair(1U, 3)));
}

TEST(Recording, PrintsALinePerStep) {
  const Model model = two_branches();
  const Schedule schedule = recorded(model.graph, [](ScheduleContext& ctx) {
    const Lane side = ctx.lane("side");
    ctx.execute({ready(ctx, "left", 0), ready(ctx, "left", 1)}, {.lane = side});
    ctx.execute(ready(ctx, "right", 0), {.lane = ctx.lane("main")});
    ctx.execute(ready(ctx, "right", 1), {.lane = side, .replace_func = Replacement{"fast"}});
  });
  EXPECT_EQ(to_string(schedule, model.graph),
            "schedule Scripted  2 microbatches, 3 steps\n"
            "  left .0 .1  on side\n"
            "  right .0  on main\n"
            "  right .1  on side  as fast\n");
}

TEST(ScheduleKey, MatchesOtherSizes) {
  const Schedule schedule = recorded(three_in_a_row().graph, [](ScheduleContext&) {});
  EXPECT_TRUE(schedule.key.matches(Split{{1, 100}}));
}

TEST(ScheduleKey, MatchesNoOtherCount) {
  const Schedule schedule = recorded(three_in_a_row().graph, [](ScheduleContext&) {});
  EXPECT_FALSE(schedule.key.matches(Split{{4, 4, 4}}));
}

TEST(ScheduleKey, MatchesNoOtherEmptyMicrobatches) {
  const Schedule schedule = recorded(three_in_a_row().graph, [](ScheduleContext&) {});
  EXPECT_FALSE(schedule.key.matches(Split{{8, 0}}));
}

TEST(ScheduleKey, MatchesNoOtherRowsThanThoseRead) {
  const Schedule schedule =
      recorded(three_in_a_row().graph, [](ScheduleContext& ctx) { (void)ctx.rows(Microbatch{1}); });
  EXPECT_FALSE(schedule.key.matches(Split{{4, 5}}));
}

TEST(ScheduleKey, MatchesOtherRowsThanThoseNotRead) {
  const Schedule schedule =
      recorded(three_in_a_row().graph, [](ScheduleContext& ctx) { (void)ctx.rows(Microbatch{1}); });
  EXPECT_TRUE(schedule.key.matches(Split{{5, 4}}));
}

}  // namespace
}  // namespace dynaflow::testing
