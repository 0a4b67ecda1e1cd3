#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "device/scripted_launch.h"
#include "dynaflow/device/cpu/cpu_device.h"

namespace dynaflow::testing {
namespace {

using ::testing::ElementsAre;

class AwaitedSteps : public ::testing::Test {
 protected:
  [[nodiscard]] std::vector<std::uint32_t> awaited() const {
    std::vector<std::uint32_t> found;
    for (std::uint32_t step = 0; step < work_.size(); ++step) {
      if (work_.steps[step].awaited == Awaited::kYes) found.push_back(step);
    }
    return found;
  }

  CpuDevice device_;
  ScriptedLaunch work_{device_, {"compute", "network"}};
};

TEST_F(AwaitedSteps, AreAllOfALaunchThatWasNeverMarked) {
  for (int i = 0; i < 3; ++i) work_.add({.lane = 0});
  EXPECT_THAT(awaited(), ElementsAre(0, 1, 2));
}

TEST_F(AwaitedSteps, AreThoseThatSomeStepWaitsFor) {
  for (const std::uint32_t lane : {0U, 1U, 0U, 1U, 0U}) work_.add({.lane = lane});
  work_.add({.lane = 1, .after = {2}});
  work_.add({.lane = 0, .after = {1, 3}});
  work_.mark_awaited();
  EXPECT_THAT(awaited(), ElementsAre(1, 2, 3));
}

TEST_F(AwaitedSteps, AreAlsoThoseThatTheirOwnLaneWaitsFor) {
  work_.add({.lane = 0});
  work_.add({.lane = 0, .after = {0}});
  work_.mark_awaited();
  EXPECT_THAT(awaited(), ElementsAre(0));
}

TEST_F(AwaitedSteps, FollowTheWaitsWhenMarkedAgain) {
  work_.add({.lane = 0});
  work_.add({.lane = 0});
  work_.add({.lane = 1, .after = {0}});
  work_.mark_awaited();
  work_.waits[0] = work_.completion_of(1);
  work_.mark_awaited();
  EXPECT_THAT(awaited(), ElementsAre(1));
}

TEST_F(AwaitedSteps, AreNoneForWaitsThatHoldAtOnceOrNever) {
  work_.add({.lane = 0});
  work_.waits = {{0, 0}, {0, 2}, {1, 1}};
  work_.mark_awaited();
  EXPECT_THAT(awaited(), ElementsAre());
}

}  // namespace
}  // namespace dynaflow::testing
