#include "dynaflow/device/cpu/lane_counter.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <latch>
#include <thread>
#include <vector>

#include "dynaflow/device/cpu/spin.h"

namespace dynaflow {
namespace {

constexpr int kSleepAtOnce = 0;

TEST(LaneCounter, CountsCompletedSteps) {
  LaneCounter counter;
  for (int i = 0; i < 5; ++i) counter.complete();
  EXPECT_EQ(counter.completed(), 5U);
}

TEST(LaneCounter, SatisfiesAWaitForThePastAtOnce) {
  LaneCounter counter;
  counter.complete();
  EXPECT_EQ(counter.await(1, kSleepAtOnce), Arrival::kAtOnce);
}

TEST(LaneCounter, TakesUpOneCacheLine) { EXPECT_EQ(sizeof(LaneCounter), 64U); }

TEST(LaneCounter, EndsEveryWaitOnceAborted) {
  LaneCounter counter;
  counter.complete();
  counter.abort();
  EXPECT_EQ(counter.await(1, kSleepAtOnce), Arrival::kAborted);
  EXPECT_EQ(counter.await(100, kSleepAtOnce), Arrival::kAborted);
}

TEST(LaneCounter, KeepsItsCountThroughAnAbort) {
  LaneCounter counter;
  counter.complete();
  counter.abort();
  counter.complete();
  EXPECT_EQ(counter.completed(), 2U);
}

TEST(LaneCounter, StartsAfreshAfterAReset) {
  LaneCounter counter;
  counter.complete();
  counter.abort();
  counter.reset();
  EXPECT_FALSE(counter.aborted());
  EXPECT_EQ(counter.completed(), 0U);
}

TEST(LaneCounter, AbortWakesEverySleeper) {
  LaneCounter counter;
  std::array<Arrival, 3> arrivals{};
  std::latch started(3);
  std::vector<std::thread> sleepers;
  for (std::uint32_t i = 0; i < 3; ++i) {
    sleepers.emplace_back([&, i] {
      started.count_down();
      arrivals[i] = counter.await(i + 1, kSleepAtOnce);
    });
  }
  started.wait();
  counter.abort();
  for (std::thread& sleeper : sleepers) sleeper.join();
  EXPECT_EQ(arrivals, (std::array{Arrival::kAborted, Arrival::kAborted, Arrival::kAborted}));
}

TEST(LaneCounter, WakesEachSleeperAtItsOwnCount) {
  constexpr std::uint32_t kCount = 70;  // more than there are wake-up bits
  LaneCounter counter;
  std::latch started(3);
  std::vector<std::thread> sleepers;
  for (const std::uint32_t count : {1U, 33U, kCount}) {
    sleepers.emplace_back([&, count] {
      started.count_down();
      EXPECT_NE(counter.await(count, kSleepAtOnce), Arrival::kAborted);
      EXPECT_GE(counter.completed(), count);
    });
  }
  started.wait();
  for (std::uint32_t i = 0; i < kCount; ++i) counter.complete();
  for (std::thread& sleeper : sleepers) sleeper.join();
}

/// Two threads hand plain memory to and fro; only the counters order their accesses.
void ping_pong(int pauses, std::uint32_t rounds) {
  LaneCounter ping;
  LaneCounter pong;
  std::uint64_t value = 0;
  std::thread other([&] {
    for (std::uint32_t i = 1; i <= rounds; ++i) {
      ASSERT_NE(ping.await(i, pauses), Arrival::kAborted);
      value = value * 3 + 1;
      pong.complete();
    }
  });
  std::uint64_t expected = 0;
  for (std::uint32_t i = 1; i <= rounds; ++i) {
    value += i;
    expected = (expected + i) * 3 + 1;
    ping.complete();
    ASSERT_NE(pong.await(i, pauses), Arrival::kAborted);
    ASSERT_EQ(value, expected);
  }
  other.join();
}

TEST(LaneCounter, HandsOverTwentyThousandTimesSpinning) { ping_pong(kSpinPauses, 20'000); }

TEST(LaneCounter, HandsOverTwentyThousandTimesSleeping) { ping_pong(kSleepAtOnce, 20'000); }

TEST(LaneCounter, HandsOverTwentyThousandTimesOnTheVergeOfSleep) { ping_pong(3, 20'000); }

TEST(LaneCounter, LosesNoSleeperToAnAbortAtTheSameMoment) {
  for (int round = 0; round < 500; ++round) {
    LaneCounter counter;
    std::latch both(2);
    std::thread sleeper([&] {
      both.arrive_and_wait();
      EXPECT_EQ(counter.await(1, kSleepAtOnce), Arrival::kAborted);
    });
    both.arrive_and_wait();
    counter.abort();
    sleeper.join();
  }
}

}  // namespace
}  // namespace dynaflow
