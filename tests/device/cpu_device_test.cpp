#include "dynaflow/device/cpu/cpu_device.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <latch>
#include <memory>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "device/scripted_launch.h"
#include "dynaflow/device/cpu/core_set.h"
#include "dynaflow/device/cpu/cpu_memory.h"

namespace dynaflow::testing {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using namespace std::chrono_literals;

using Cores = std::vector<int>;

constexpr Share kEqual{Share::kEqualPart};

std::vector<Cores> grant_each(const Cores& cores, const std::vector<Share>& shares) {
  std::vector<LaneRequest> requests;
  for (const Share& share : shares) requests.push_back({"lane", share});
  std::vector<Cores> granted;
  for (const LaneGrant& grant : grant_cores(cores, requests)) granted.push_back(grant.cores);
  return granted;
}

/// What the kernel was told of the mapping that an address is in, as /proc/self/smaps spells it.
std::string flags_of_mapping(std::uintptr_t address) {
  std::ifstream maps("/proc/self/smaps");
  bool inside = false;
  for (std::string line; std::getline(maps, line);) {
    std::istringstream words(line);
    std::uintptr_t first = 0;
    std::uintptr_t last = 0;
    char dash = 0;
    if (words >> std::hex >> first >> dash >> last && dash == '-') {
      inside = first <= address && address < last;
    }
    if (inside && line.starts_with("VmFlags:")) return line;
  }
  return {};
}

TEST(HostMemory, IsInHugePagesWhereItIsLarge) {
  const auto memory = allocate_host_memory(std::int64_t{4} << 20);
  ASSERT_TRUE(memory);
  const auto address = reinterpret_cast<std::uintptr_t>((*memory)->data());
  EXPECT_EQ(address % (std::uintptr_t{2} << 20), 0U);
  const bool asked = flags_of_mapping(address).find(" hg") != std::string::npos;
  EXPECT_EQ(asked, std::filesystem::exists("/sys/kernel/mm/transparent_hugepage"));
}

TEST(GrantCores, GivesASingleLaneEverything) {
  EXPECT_THAT(grant_each({0, 1, 2, 3}, {kEqual}), ElementsAre(Cores{0, 1, 2, 3}));
}

TEST(GrantCores, GivesEqualPartsThatDifferByOneAtMost) {
  EXPECT_THAT(grant_each({0, 1, 2, 3, 4}, {kEqual, kEqual}),
              ElementsAre(Cores{0, 1, 2}, Cores{3, 4}));
}

TEST(GrantCores, GivesNumbersFirstInRequestOrder) {
  EXPECT_THAT(grant_each({0, 1, 2, 3, 4, 5}, {kEqual, {1}, {2}, kEqual}),
              ElementsAre(Cores{3, 4}, Cores{0}, Cores{1, 2}, Cores{5}));
}

TEST(GrantCores, LetsAShareOfZeroFloatOverAll) {
  EXPECT_THAT(grant_each({2, 5}, {kEqual, {0}}), ElementsAre(Cores{2, 5}, Cores{2, 5}));
}

TEST(GrantCores, GivesWhatIsLeftWhenTooMuchIsAsked) {
  EXPECT_THAT(grant_each({0, 1, 2}, {{2}, {2}}), ElementsAre(Cores{0, 1}, Cores{2}));
}

TEST(GrantCores, SharesTheRestWhenThereAreMoreLanesThanCores) {
  EXPECT_THAT(grant_each({0, 1, 2}, {{1}, kEqual, kEqual, kEqual}),
              ElementsAre(Cores{0}, Cores{1}, Cores{2}, Cores{1}));
}

TEST(GrantCores, GivesEveryLaneACoreEvenWhenNoneIsLeft) {
  EXPECT_THAT(grant_each({0, 1}, {{2}, {1}, kEqual}), ElementsAre(Cores{0, 1}, Cores{0}, Cores{1}));
}

TEST(CpuDevice, GrantsOnlyCoresThatItsMakerMayUse) {
  const PinnedScope one_core(CoreSet(Cores{CoreSet::of_this_thread().cores().front()}));
  const CpuDevice device;
  const std::vector<LaneRequest> request{{"compute", kEqual}};
  EXPECT_EQ(device.grant(request).front().cores, CoreSet::of_this_thread().cores());
}

/// Two lanes; each step notes which core it runs on.
struct CoreNotes {
  explicit CoreNotes(const CpuDevice& device)
      : work(std::make_shared<ScriptedLaunch>(device,
                                              std::vector<std::string>{"compute", "network"})) {
    for (std::uint32_t lane = 0; lane < 2; ++lane) {
      for (int i = 0; i < 50; ++i) {
        work->add({.lane = lane, .body = [this, lane] { seen[lane].push_back(sched_getcpu()); }});
      }
    }
  }
  std::vector<Cores> seen = std::vector<Cores>(2);
  std::shared_ptr<ScriptedLaunch> work;
};

class PinnedCpuDevice : public ::testing::TestWithParam<FirstLane> {
 protected:
  CpuDevice device_{{GetParam()}};
};

INSTANTIATE_TEST_SUITE_P(FirstLane, PinnedCpuDevice,
                         ::testing::Values(FirstLane::kCaller, FirstLane::kOwnThread),
                         [](const ::testing::TestParamInfo<FirstLane>& first_lane) {
                           return first_lane.param == FirstLane::kCaller ? "Caller" : "OwnThread";
                         });

TEST_P(PinnedCpuDevice, RunsEachLaneOnItsCores) {
  CoreNotes notes(device_);
  ASSERT_TRUE(device_.launch(notes.work, unwatched()));
  for (std::size_t lane = 0; lane < 2; ++lane) {
    for (const int core : notes.seen[lane]) {
      ASSERT_THAT(notes.work->lanes[lane].cores, Contains(core)) << "lane " << lane;
    }
  }
}

TEST_P(PinnedCpuDevice, MovesLanesWhoseCoresChange) {
  CoreNotes notes(device_);
  ASSERT_TRUE(device_.launch(notes.work, unwatched()));
  std::swap(notes.work->lanes[0].cores, notes.work->lanes[1].cores);
  notes.seen = {{}, {}};
  ASSERT_TRUE(device_.launch(notes.work, unwatched()));
  for (std::size_t lane = 0; lane < 2; ++lane) {
    ASSERT_THAT(notes.work->lanes[lane].cores, Contains(notes.seen[lane].back()));
  }
}

TEST_P(PinnedCpuDevice, PutsTheCallerBackWhereItWas) {
  const CoreSet before = CoreSet::of_this_thread();
  CoreNotes notes(device_);
  ASSERT_TRUE(device_.launch(notes.work, unwatched()));
  EXPECT_TRUE(CoreSet::of_this_thread() == before);
}

TEST_P(PinnedCpuDevice, RunsLanesWhoseCoresDoNotExist) {
  CoreNotes notes(device_);
  notes.work->lanes[0].cores = {1'000};
  notes.work->lanes[1].cores = {100'000};
  EXPECT_TRUE(device_.launch(notes.work, unwatched()));
}

TEST(CpuDevice, RunsASingleLaneOnTheCallersThread) {
  CpuDevice device;
  const auto work = std::make_shared<ScriptedLaunch>(device, std::vector<std::string>{"compute"});
  std::thread::id ran_on;
  work->add({.lane = 0, .body = [&] { ran_on = std::this_thread::get_id(); }});
  ASSERT_TRUE(device.launch(work, unwatched()));
  EXPECT_EQ(ran_on, std::this_thread::get_id());
}

TEST(CpuDevice, KeepsItsThreadsFromLaunchToLaunch) {
  CpuDevice device({FirstLane::kOwnThread});
  const auto work = std::make_shared<ScriptedLaunch>(device, std::vector<std::string>{"compute"});
  std::vector<std::thread::id> ran_on;
  work->add({.lane = 0, .body = [&] { ran_on.push_back(std::this_thread::get_id()); }});
  ASSERT_TRUE(device.launch(work, unwatched()));
  ASSERT_TRUE(device.launch(work, unwatched()));
  EXPECT_EQ(ran_on[0], ran_on[1]);
}

TEST(CpuDevice, TellsOfAnUnawaitedStepAtItsLanesEnd) {
  CpuDevice device;
  const auto work =
      std::make_shared<ScriptedLaunch>(device, std::vector<std::string>{"compute", "network"});
  const std::uint32_t untold = work->add({.lane = 1});
  const std::uint32_t last =
      work->add({.lane = 1, .body = [] { std::this_thread::sleep_for(20ms); }});
  const std::uint32_t waits = work->add({.lane = 0, .after = {untold}});
  for (const std::uint32_t step : {untold, last}) work->steps[step].awaited = Awaited::kNo;
  ASSERT_TRUE(device.launch(work, watch_for(10s)));
  EXPECT_GT(work->record(waits).started.load(), work->record(last).ended.load());
}

TEST(CpuDevice, NamesTheStepOfAReentryAmongUnawaitedOnes) {
  CpuDevice device;
  std::string where;
  const auto work = std::make_shared<ScriptedLaunch>(device, std::vector<std::string>{"compute"});
  work->add({.lane = 0});
  work->add({.lane = 0});
  work->add(
      {.lane = 0, .body = [&] { where = device.launch(work, unwatched()).error().first().where; }});
  work->mark_awaited();
  ASSERT_TRUE(device.launch(work, unwatched()));
  EXPECT_EQ(where, "lane compute, step 3 of 3");
}

/// One step on one lane that does not return before it is released.
struct StuckStep {
  StuckStep(const Device& device, std::uint32_t lane)
      : work(std::make_shared<ScriptedLaunch>(device,
                                              std::vector<std::string>{"compute", "network"})) {
    work->add({.lane = lane, .name = "recv", .body = [shared = gate] { shared->wait(); }});
  }
  std::shared_ptr<std::latch> gate = std::make_shared<std::latch>(1);
  std::shared_ptr<ScriptedLaunch> work;
};

/// Whether the last reference goes, as it shall once a stuck lane has let go.
bool is_released(const std::weak_ptr<Launch>& work) {
  for (int i = 0; i < 10'000 && !work.expired(); ++i) std::this_thread::sleep_for(1ms);
  return work.expired();
}

TEST(CpuDevice, ReturnsFromAFirstLaneThatNeverReturnsIfItHasItsOwnThread) {
  CpuDevice device({FirstLane::kOwnThread});
  const StuckStep stuck(device, 0);
  const Result<LaunchStats> result = device.launch(stuck.work, watch_for(100ms));
  stuck.gate->count_down();
  ASSERT_FALSE(result);
  EXPECT_THAT(result.error().first().where, HasSubstr("lane compute, step 1 of 1"));
}

TEST(CpuDevice, IsDestroyedAlthoughALaneIsStuck) {
  auto device = std::make_unique<CpuDevice>();
  StuckStep stuck(*device, 1);
  const std::weak_ptr<Launch> work = stuck.work;
  ASSERT_FALSE(device->launch(stuck.work, watch_for(100ms)));
  device.reset();
  stuck.work.reset();
  EXPECT_FALSE(work.expired());
  stuck.gate->count_down();
  EXPECT_TRUE(is_released(work));
}

TEST(CpuDevice, LetsGoOfTheLaunchWhenTheStuckStepHasReturned) {
  CpuDevice device;
  StuckStep stuck(device, 1);
  const std::weak_ptr<Launch> work = stuck.work;
  ASSERT_FALSE(device.launch(stuck.work, watch_for(100ms)));
  stuck.work.reset();
  stuck.gate->count_down();
  EXPECT_TRUE(is_released(work));
}

TEST(CpuDevice, DropsTheErrorOfAStepThatAStallLeftBehind) {
  CpuDevice device;
  const auto gate = std::make_shared<std::latch>(1);
  auto late =
      std::make_shared<ScriptedLaunch>(device, std::vector<std::string>{"compute", "network"});
  late->add({.lane = 1, .body = [gate] {
               gate->wait();
               throw std::runtime_error("too late");
             }});
  ASSERT_FALSE(device.launch(late, watch_for(100ms)));
  const std::weak_ptr<Launch> work = std::exchange(late, nullptr);
  gate->count_down();
  ASSERT_TRUE(is_released(work));
  CoreNotes notes(device);
  Result<LaunchStats> result = device.launch(notes.work, unwatched());
  while (!result && result.error().broke(kLaneLost)) {
    result = device.launch(notes.work, unwatched());
  }
  EXPECT_TRUE(result);
}

TEST(CpuDevice, TakesTheLongestPatienceForNever) {
  CpuDevice device;
  CoreNotes notes(device);
  EXPECT_TRUE(device.launch(notes.work, watch_for(std::chrono::milliseconds::max())));
}

TEST(CpuDevice, WatchesAShortLaunchAfterALongOne) {
  CpuDevice device;
  CoreNotes notes(device);
  ASSERT_TRUE(device.launch(notes.work, watch_for(60s)));
  const StuckStep stuck(device, 1);
  const auto begin = std::chrono::steady_clock::now();
  ASSERT_FALSE(device.launch(stuck.work, watch_for(100ms)));
  stuck.gate->count_down();
  EXPECT_LT(std::chrono::steady_clock::now() - begin, 20s);
}

}  // namespace
}  // namespace dynaflow::testing
