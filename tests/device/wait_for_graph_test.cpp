#include "dynaflow/device/cpu/wait_for_graph.h"

#include <gtest/gtest.h>

#include <vector>

#include "device/scripted_launch.h"
#include "dynaflow/device/cpu/cpu_device.h"

namespace dynaflow::testing {
namespace {

using namespace std::chrono_literals;

class WaitForGraph : public ::testing::Test {
 protected:
  WaitForGraph() {
    const std::uint32_t attn = work_.add({.lane = 0, .name = "attn on microbatch 0"});
    work_.add({.lane = 1, .name = "all_reduce on microbatch 0"});
    const std::uint32_t last = work_.add({.lane = 1, .name = "all_reduce on microbatch 1"});
    work_.add({.lane = 0, .after = {attn, last}, .name = "mlp on microbatch 0"});
  }

  CpuDevice device_;
  ScriptedLaunch work_{device_, {"compute", "network"}};
};

TEST_F(WaitForGraph, SaysWhoWaitsForWhomAndWhoIsInsideWhat) {
  const std::vector<LaneSighting> lanes{{LaneState::kBetweenSteps, 1, 2s},
                                        {LaneState::kInsideStep, 1, 2s}};
  EXPECT_EQ(wait_for_graph(work_, lanes),
            "lane compute: waits for lane network to complete 2 steps (has 1), before mlp on "
            "microbatch 0\n"
            "lane network: inside all_reduce on microbatch 1 for 2.0 s");
}

TEST_F(WaitForGraph, TellsLanesThatFinishedFromThoseThatStopped) {
  const std::vector<LaneSighting> lanes{{LaneState::kQuiet, 1, 2s}, {LaneState::kQuiet, 2, 2s}};
  EXPECT_EQ(wait_for_graph(work_, lanes),
            "lane compute: stopped after 1 of 2 steps\n"
            "lane network: finished");
}

TEST_F(WaitForGraph, SaysWhenAStepCouldStart) {
  const std::vector<LaneSighting> lanes{{LaneState::kBetweenSteps, 1, 2s},
                                        {LaneState::kQuiet, 2, 2s}};
  EXPECT_EQ(wait_for_graph(work_, lanes),
            "lane compute: about to start mlp on microbatch 0\n"
            "lane network: finished");
}

}  // namespace
}  // namespace dynaflow::testing
