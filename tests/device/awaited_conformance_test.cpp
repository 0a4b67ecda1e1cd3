#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <latch>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "device/device_under_test.h"
#include "device/random_sum.h"
#include "device/scripted_launch.h"

namespace dynaflow::testing {
namespace {

using ::testing::Each;
using ::testing::HasSubstr;
using namespace std::chrono_literals;

/// What a device keeps to itself while nobody awaits it must still be there when somebody asks.
class AwaitedConformance : public DeviceTest {};

INSTANTIATE_TEST_SUITE_P(Devices, AwaitedConformance, every_device(), name_of);

/// Lane network runs six steps, of which lane compute awaits the third. Step `special` has a body.
struct MostlyUnawaited {
  static constexpr std::uint32_t kSteps = 6;

  MostlyUnawaited(const Device& device, std::uint32_t special, std::function<void()> body)
      : work(std::make_shared<ScriptedLaunch>(device,
                                              std::vector<std::string>{"compute", "network"})) {
    for (std::uint32_t step = 0; step < kSteps; ++step) {
      work->add({.lane = 1, .body = step == special ? body : [] {}});
    }
    work->add({.lane = 0, .after = {2}});
    work->mark_awaited();
  }

  std::shared_ptr<ScriptedLaunch> work;
};

std::string place(std::uint32_t step) {
  return "lane network, step " + std::to_string(step + 1) + " of 6";
}

TEST_P(AwaitedConformance, HoldsEveryWaitOfMarkedRandomLaunchesOnOneToTwentyLanes) {
  for (std::uint32_t seed = 0; seed < 60; ++seed) {
    RandomSum random(*device_, seed % 20 + 1, seed, 100);
    random.work->mark_awaited();
    ASSERT_TRUE(launch(random.work));
    ASSERT_EQ(broken_order(*random.work), "") << "seed " << seed;
    ASSERT_TRUE(random.values_are_right()) << "seed " << seed;
    ASSERT_THAT(all_runs(*random.work), Each(1)) << "seed " << seed;
  }
}

TEST_P(AwaitedConformance, RunsAMarkedLaunchAgainAndAgain) {
  RandomSum random(*device_, 3, 5, 30);
  random.work->mark_awaited();
  for (int i = 0; i < 300; ++i) ASSERT_TRUE(launch(random.work));
  EXPECT_TRUE(random.values_are_right());
  EXPECT_THAT(all_runs(*random.work), Each(300));
}

TEST_P(AwaitedConformance, NamesTheStepThatThrowsAmongUnawaitedOnes) {
  for (std::uint32_t step = MostlyUnawaited::kSteps; step-- > 0;) {  // fewer than the time before
    const MostlyUnawaited mostly(*device_, step, [] { throw std::runtime_error("boom"); });
    const Result<LaunchStats> result = launch(mostly.work);
    ASSERT_FALSE(result);
    EXPECT_THAT(result.error().first().message, HasSubstr(mostly.work->describe(step)));
    EXPECT_EQ(result.error().first().where, place(step));
  }
}

TEST_P(AwaitedConformance, CountsUnawaitedStepsWhenCancelled) {
  for (std::uint32_t steps = 0; steps < 5; ++steps) {
    const auto work = make_launch({"compute"});
    for (std::uint32_t i = 0; i < steps; ++i) work->add({.lane = 0});
    work->add({.lane = 0, .body = [&] { device_->cancel(); }});
    const std::uint32_t after = work->add({.lane = 0});
    work->mark_awaited();
    const Result<LaunchStats> result = launch(work);
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().first().where,
              "after " + std::to_string(steps) + " of " + std::to_string(steps + 2) + " steps");
    EXPECT_EQ(work->runs(after), 0);
  }
}

TEST_P(AwaitedConformance, NamesTheStepThatIsStuckAmongUnawaitedOnes) {
  for (const std::uint32_t step : {1U, 5U}) {
    const auto gate = std::make_shared<std::latch>(1);
    const MostlyUnawaited mostly(*device_, step, [gate] { gate->wait(); });
    const std::string name = mostly.work->describe(step);
    const Result<LaunchStats> result = launch(mostly.work, watch_for(100ms));
    const Result<LaunchStats> refused = launch_something();
    gate->count_down();
    ASSERT_FALSE(result);
    EXPECT_THAT(result.error().first().message, HasSubstr("\nlane network: inside " + name));
    ASSERT_FALSE(refused);
    EXPECT_THAT(refused.error().first().message, HasSubstr(name));
    EXPECT_TRUE(launch_when_free());
  }
}

TEST_P(AwaitedConformance, TakesUnawaitedStepsThatMoveForNoStall) {
  const auto work = make_launch({"compute", "network"});
  for (std::uint32_t step = 0; step < 8; ++step) {
    work->add({.lane = 1, .body = [] {
                 std::this_thread::sleep_for(50ms);  // the work itself
               }});
  }
  work->add({.lane = 0, .after = {7}});
  work->mark_awaited();
  EXPECT_TRUE(launch(work, watch_for(300ms)));
}

}  // namespace
}  // namespace dynaflow::testing
