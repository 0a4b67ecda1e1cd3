#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <latch>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "device/device_under_test.h"
#include "device/scripted_launch.h"

namespace dynaflow::testing {
namespace {

using ::testing::HasSubstr;
using namespace std::chrono_literals;

class StallConformance : public DeviceTest {};

INSTANTIATE_TEST_SUITE_P(Devices, StallConformance, every_device(), name_of);

/// Lane network is inside a step until it is released; lane compute waits for it.
struct StuckLaunch {
  explicit StuckLaunch(const Device& device)
      : work(std::make_shared<ScriptedLaunch>(
            device, std::vector<std::string>{"compute", "network", "idle"})) {
    const std::uint32_t attn = work->add({.lane = 0, .name = "attn on microbatch 0"});
    const std::uint32_t stuck = work->add({.lane = 1,
                                           .after = {attn},
                                           .name = "all_reduce on microbatch 0",
                                           .body = [gate = release] { gate->wait(); }});
    waiting = work->add({.lane = 0, .after = {stuck}, .name = "mlp on microbatch 0"});
    behind = work->add({.lane = 1, .name = "all_reduce on microbatch 1"});
  }
  ~StuckLaunch() {
    if (!release->try_wait()) release->count_down();
  }
  StuckLaunch(const StuckLaunch&) = delete;
  StuckLaunch& operator=(const StuckLaunch&) = delete;

  std::shared_ptr<std::latch> release = std::make_shared<std::latch>(1);
  std::shared_ptr<ScriptedLaunch> work;
  std::uint32_t waiting = 0;
  std::uint32_t behind = 0;
};

TEST_P(StallConformance, EndsAStallWithTheWaitForGraph) {
  const StuckLaunch stuck(*device_);
  const Result<LaunchStats> result = launch(stuck.work, watch_for(100ms));
  ASSERT_FALSE(result);
  const Diagnostic& finding = result.error().first();
  EXPECT_EQ(finding.rule.id, kStalled.id);
  EXPECT_THAT(finding.message, HasSubstr("\nlane compute: waits for lane network"));
  EXPECT_THAT(finding.message, HasSubstr("before mlp on microbatch 0"));
  EXPECT_THAT(finding.message, HasSubstr("\nlane network: inside all_reduce on microbatch 0"));
  EXPECT_THAT(finding.message, HasSubstr("\nlane idle: finished"));
}

TEST_P(StallConformance, TellsOnStallOnceWhatTheLaunchReturns) {
  const StuckLaunch stuck(*device_);
  std::vector<std::string> told;
  WatchOptions watch = watch_for(100ms);
  watch.on_stall = [&](const Diagnostic& finding) { told.push_back(to_string(finding)); };
  const Result<LaunchStats> result = launch(stuck.work, watch);
  ASSERT_FALSE(result);
  EXPECT_THAT(told, ::testing::ElementsAre(to_string(result.error().first())));
}

TEST_P(StallConformance, RefusesLaunchesUntilTheStuckStepHasReturned) {
  const StuckLaunch stuck(*device_);
  ASSERT_FALSE(launch(stuck.work, watch_for(100ms)));
  for (int i = 0; i < 3; ++i) {
    const Result<LaunchStats> refused = launch_something();
    ASSERT_FALSE(refused);
    EXPECT_TRUE(refused.error().broke(kLaneLost));
    EXPECT_THAT(refused.error().first().message, HasSubstr("all_reduce on microbatch 0"));
  }
  stuck.release->count_down();
  EXPECT_TRUE(launch_when_free());
  EXPECT_EQ(stuck.work->runs(stuck.waiting) + stuck.work->runs(stuck.behind), 0);
}

TEST_P(StallConformance, EndsAStallOfTheFirstLaneWhenOnStallFreesIt) {
  std::latch release(1);
  const auto work = make_launch({"compute", "network"});
  const std::uint32_t stuck = work->add({.lane = 0, .body = [&] { release.wait(); }});
  const std::uint32_t after = work->add({.lane = 1, .after = {stuck}});
  WatchOptions watch = watch_for(100ms);
  watch.on_stall = [&](const Diagnostic&) { release.count_down(); };
  const Result<LaunchStats> result = launch(work, watch);
  ASSERT_FALSE(result);
  EXPECT_TRUE(result.error().broke(kStalled));
  EXPECT_TRUE(launch_when_free());
  EXPECT_EQ(work->runs(after), 0);
}

TEST_P(StallConformance, RefusesALaunchFromInsideOnStall) {
  const StuckLaunch stuck(*device_);
  std::optional<Error> refusal;
  WatchOptions watch = watch_for(100ms);
  watch.on_stall = [&](const Diagnostic&) {
    if (const auto inner = launch_something(); !inner) refusal = inner.error();
  };
  ASSERT_FALSE(launch(stuck.work, watch));
  ASSERT_TRUE(refusal);
  EXPECT_TRUE(refusal->broke(kReentry));
}

TEST_P(StallConformance, EndsLanesThatWaitForEachOther) {
  const auto work = make_launch({"compute", "network"});
  work->add({.lane = 0});
  work->add({.lane = 1, .after = {0}});
  work->waits.push_back({1, 1});
  work->steps[0] = {0, 1, 1};
  const Result<LaunchStats> result = launch(work, watch_for(100ms));
  ASSERT_FALSE(result);
  EXPECT_TRUE(result.error().broke(kStalled));
  EXPECT_TRUE(launch_something());
}

TEST_P(StallConformance, ReturnsAFirstErrorAlthoughAnotherLaneIsStuck) {
  std::latch started(1);
  std::latch release(1);
  const auto work = make_launch({"compute", "network"});
  work->add({.lane = 1, .body = [&] {
               started.count_down();
               release.wait();
             }});
  work->add({.lane = 0, .body = [&] {
               started.wait();
               throw std::runtime_error("boom");
             }});
  const Result<LaunchStats> result = launch(work, watch_for(100ms));
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().first().rule.id, kBodyFailed.id);
  EXPECT_TRUE(result.error().broke(kStalled));
  release.count_down();
  EXPECT_TRUE(launch_when_free());
}

TEST_P(StallConformance, TakesASlowLaunchThatMovesForNoStall) {
  const auto work = make_launch({"compute", "network"});
  for (std::uint32_t step = 0; step < 8; ++step) {
    std::vector<std::uint32_t> after;
    if (step > 0) after.push_back(step - 1);
    work->add({.lane = step % 2, .after = after, .body = [] {
                 std::this_thread::sleep_for(50ms);  // the work itself
               }});
  }
  EXPECT_TRUE(launch(work, watch_for(300ms)));
}

}  // namespace
}  // namespace dynaflow::testing
