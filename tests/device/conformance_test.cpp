#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <latch>
#include <limits>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "device/device_under_test.h"
#include "device/random_sum.h"
#include "device/scripted_launch.h"

// A refused allocation is an answer that we test, so the sanitizers shall give it too.
extern "C" const char* __asan_default_options() {  // NOLINT(bugprone-reserved-identifier)
  return "allocator_may_return_null=1";
}
extern "C" const char* __tsan_default_options() {  // NOLINT(bugprone-reserved-identifier)
  return "allocator_may_return_null=1";
}

namespace dynaflow::testing {
namespace {

using ::testing::Each;
using ::testing::HasSubstr;

class Conformance : public DeviceTest {};

INSTANTIATE_TEST_SUITE_P(Devices, Conformance, every_device(), name_of);

TEST_P(Conformance, RunsTheStepsOfALaneInOrder) {
  const auto work = make_launch({"compute"});
  for (int i = 0; i < 100; ++i) work->add({.lane = 0});
  ASSERT_TRUE(launch(work));
  EXPECT_EQ(broken_order(*work), "");
}

TEST_P(Conformance, HoldsEveryWaitOfRandomLaunchesOnOneToSixLanes) {
  for (std::uint32_t seed = 0; seed < 60; ++seed) {
    RandomSum random(*device_, seed % 6 + 1, seed, 60);
    ASSERT_TRUE(launch(random.work));
    ASSERT_EQ(broken_order(*random.work), "") << "seed " << seed;
    ASSERT_TRUE(random.values_are_right()) << "seed " << seed;
    ASSERT_THAT(all_runs(*random.work), Each(1)) << "seed " << seed;
  }
}

TEST_P(Conformance, CountsEveryWait) {
  RandomSum random(*device_, 3, 7, 60);
  const Result<LaunchStats> stats = launch(random.work);
  ASSERT_TRUE(stats);
  EXPECT_EQ(stats->waits, random.work->waits.size());
}

TEST_P(Conformance, RunsALaunchWithoutLanes) { EXPECT_TRUE(launch(make_launch({}))); }

TEST_P(Conformance, RunsALaunchWithoutSteps) {
  EXPECT_TRUE(launch(make_launch({"compute", "network"})));
}

TEST_P(Conformance, RunsALaunchWhoseFirstLaneHasNoSteps) {
  const auto work = make_launch({"compute", "network", "spare"});
  work->add({.lane = 1});
  ASSERT_TRUE(launch(work));
  EXPECT_EQ(work->runs(0), 1);
}

TEST_P(Conformance, RunsAThousandLaunchesOneAfterTheOther) {
  RandomSum random(*device_, 2, 3, 8);
  for (int i = 0; i < 1'000; ++i) ASSERT_TRUE(launch(random.work));
  EXPECT_THAT(all_runs(*random.work), Each(1'000));
}

TEST_P(Conformance, RunsLaunchesOfChangingWidth) {
  for (const std::uint32_t lanes : {1U, 4U, 2U, 6U, 1U, 3U}) {
    RandomSum random(*device_, lanes, lanes, 40);
    ASSERT_TRUE(launch(random.work));
    ASSERT_EQ(broken_order(*random.work), "") << lanes << " lanes";
  }
}

/// Three lanes of four steps; each step waits for the one recorded before it.
std::shared_ptr<ScriptedLaunch> make_chain(const Device& device,
                                           const std::function<void(std::uint32_t)>& body) {
  auto work = std::make_shared<ScriptedLaunch>(
      device, std::vector<std::string>{"compute", "network", "copy"});
  for (std::uint32_t step = 0; step < 12; ++step) {
    std::vector<std::uint32_t> after;
    if (step > 0) after.push_back(step - 1);
    work->add({.lane = step % 3, .after = after, .body = [body, step] { body(step); }});
  }
  return work;
}

TEST_P(Conformance, NamesStepAndLaneOfWhateverStepThrows) {
  std::optional<std::uint32_t> fails;
  const auto work = make_chain(*device_, [&](std::uint32_t step) {
    if (step == fails) throw std::runtime_error("boom");
  });
  for (std::uint32_t step = 0; step < work->size(); ++step) {
    fails = step;
    const Result<LaunchStats> result = launch(work);
    ASSERT_FALSE(result);
    const Diagnostic& finding = result.error().first();
    const std::string lane = "lane " + work->lanes[step % 3].name;
    EXPECT_EQ(finding.rule.id, kBodyFailed.id);
    EXPECT_EQ(finding.message, work->describe(step) + " failed on " + lane + ": boom");
    EXPECT_EQ(finding.where, lane + ", step " + std::to_string(step / 3 + 1) + " of 4");
    EXPECT_NE(finding.fix, "");
  }
}

TEST_P(Conformance, StartsNoStepThatWaitsForOneThatThrew) {
  for (std::uint32_t fails = 0; fails < 12; ++fails) {
    const auto work = make_chain(*device_, [&](std::uint32_t step) {
      if (step == fails) throw std::runtime_error("boom");
    });
    ASSERT_FALSE(launch(work));
    for (std::uint32_t step = 0; step < 12; ++step) {
      ASSERT_EQ(work->runs(step), step <= fails ? 1 : 0) << "step " << step << " of " << fails;
    }
  }
}

TEST_P(Conformance, RunsTheNextLaunchAfterAStepThatThrew) {
  bool fails = true;
  const auto work = make_chain(*device_, [&](std::uint32_t step) {
    if (fails && step == 5) throw std::runtime_error("boom");
  });
  ASSERT_FALSE(launch(work));
  fails = false;
  EXPECT_TRUE(launch(work));
}

TEST_P(Conformance, ReportsAThrowThatIsNoException) {
  const auto work = make_launch({"compute"});
  work->add({.lane = 0, .body = [] { throw 42; }});
  const Result<LaunchStats> result = launch(work);
  ASSERT_FALSE(result);
  EXPECT_THAT(result.error().first().message, HasSubstr("unknown exception"));
}

TEST_P(Conformance, ReportsOneOfTwoStepsThatThrowAtOnce) {
  std::latch both(2);
  const auto work = make_launch({"compute", "network"});
  for (const std::uint32_t lane : {0U, 1U}) {
    work->add({.lane = lane, .body = [&] {
                 both.arrive_and_wait();
                 throw std::runtime_error("boom");
               }});
  }
  const Result<LaunchStats> result = launch(work);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().findings.size(), 1U);
}

TEST_P(Conformance, IsCancelledFromInsideAStep) {
  const auto work = make_launch({"compute", "network"});
  const std::uint32_t cancels = work->add({.lane = 1, .body = [&] { device_->cancel(); }});
  const std::uint32_t same_lane = work->add({.lane = 1});
  const std::uint32_t other_lane = work->add({.lane = 0, .after = {cancels}});
  const Result<LaunchStats> result = launch(work);
  ASSERT_FALSE(result);
  EXPECT_TRUE(result.error().broke(kCancelled));
  EXPECT_EQ(work->runs(same_lane) + work->runs(other_lane), 0);
}

TEST_P(Conformance, IsCancelledFromAnotherThread) {
  std::latch started(1);
  std::latch cancelled(1);
  const auto work = make_launch({"compute", "network"});
  const std::uint32_t first = work->add({.lane = 0, .body = [&] {
                                           started.count_down();
                                           cancelled.wait();
                                         }});
  const std::uint32_t second = work->add({.lane = 1, .after = {first}});
  std::thread canceller([&] {
    started.wait();
    device_->cancel();
    cancelled.count_down();
  });
  const Result<LaunchStats> result = launch(work);
  canceller.join();
  ASSERT_FALSE(result);
  EXPECT_TRUE(result.error().broke(kCancelled));
  EXPECT_EQ(work->runs(first), 1);
  EXPECT_EQ(work->runs(second), 0);
}

TEST_P(Conformance, ForgetsACancelWithoutALaunch) {
  device_->cancel();
  EXPECT_TRUE(launch_something());
}

TEST_P(Conformance, RunsTheNextLaunchAfterACancel) {
  const auto work = make_launch({"compute"});
  work->add({.lane = 0, .body = [&] { device_->cancel(); }});
  ASSERT_FALSE(launch(work));
  EXPECT_TRUE(launch_something());
}

TEST_P(Conformance, RefusesALaunchFromInsideAStep) {
  for (const std::uint32_t lane : {0U, 1U}) {
    std::optional<Error> refusal;
    const auto work = make_launch({"compute", "network"});
    work->add({.lane = lane, .body = [&] {
                 if (const auto inner = launch_something(); !inner) refusal = inner.error();
               }});
    EXPECT_TRUE(launch(work));
    ASSERT_TRUE(refusal);
    EXPECT_TRUE(refusal->broke(kReentry));
  }
}

TEST_P(Conformance, LaunchesOnAnotherDeviceFromInsideAStep) {
  const std::unique_ptr<Device> other = GetParam().make();
  const auto inner = std::make_shared<ScriptedLaunch>(*other, lane_names(2));
  inner->add({.lane = 0});
  inner->add({.lane = 1});
  const auto work = make_launch({"compute", "network"});
  for (const std::uint32_t lane : {0U, 1U}) {
    work->add({.lane = lane, .body = [&] { EXPECT_TRUE(other->launch(inner, unwatched())); }});
  }
  EXPECT_TRUE(launch(work));
  EXPECT_THAT(all_runs(*inner), Each(2));
}

TEST_P(Conformance, GivesTwoThreadsTheirTurns) {
  constexpr int kLaunches = 50;
  std::vector<int> log;  // plain memory: launches must not overlap
  const auto launch_often = [&](int thread) {
    const auto work = make_chain(*device_, [&, thread](std::uint32_t) { log.push_back(thread); });
    for (int i = 0; i < kLaunches; ++i) EXPECT_TRUE(launch(work));
  };
  std::thread other(launch_often, 1);
  launch_often(0);
  other.join();
  ASSERT_EQ(log.size(), 2U * kLaunches * 12);
  for (std::size_t i = 0; i < log.size(); ++i) ASSERT_EQ(log[i], log[i / 12 * 12]) << i;
}

TEST_P(Conformance, AllocatesAlignedMemoryOfAnySize) {
  for (const std::int64_t bytes : {0, 1, 63, 64, 1'000, 1 << 20, (1 << 22) + 1}) {
    const auto memory = device_->allocate(bytes);
    ASSERT_TRUE(memory);
    EXPECT_GE((*memory)->size(), bytes);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>((*memory)->data()) % 64, 0U);
    if (bytes > 0) (*memory)->data()[bytes - 1] = std::byte{1};
  }
}

TEST_P(Conformance, RefusesToAllocateANegativeSize) {
  const auto memory = device_->allocate(-8);
  ASSERT_FALSE(memory);
  EXPECT_TRUE(memory.error().broke(kOutOfMemory));
  EXPECT_THAT(memory.error().first().message, HasSubstr("-8 bytes"));
}

TEST_P(Conformance, RefusesToAllocateMoreThanThereIs) {
  const std::int64_t bytes = std::numeric_limits<std::int64_t>::max();
  const auto memory = device_->allocate(bytes);
  ASSERT_FALSE(memory);
  EXPECT_TRUE(memory.error().broke(kOutOfMemory));
  EXPECT_THAT(memory.error().first().message, HasSubstr(std::to_string(bytes)));
}

TEST_P(Conformance, GrantsEveryLaneByName) {
  const std::vector<LaneRequest> requests{{"compute", {}}, {"network", {0}}};
  const std::vector<LaneGrant> grants = device_->grant(requests);
  ASSERT_EQ(grants.size(), 2U);
  EXPECT_EQ(grants[1].name, "network");
  EXPECT_EQ(grants[1].requested, Share{0});
}

}  // namespace
}  // namespace dynaflow::testing
