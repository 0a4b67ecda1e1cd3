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
  for (int i = 0; i < 5; ++i) counter.complete(1);
  EXPECT_EQ(counter.await(5, kSleepAtOnce), Arrival::kAtOnce);
}

TEST(LaneCounter, CountsSeveralStepsAtOnce) {
  LaneCounter counter;
  counter.complete(3);
  counter.finish(2);
  EXPECT_EQ(counter.await(5, kSleepAtOnce), Arrival::kAtOnce);
}

TEST(LaneCounter, SatisfiesAWaitForThePastAtOnce) {
  LaneCounter counter;
  counter.complete(2);
  EXPECT_EQ(counter.await(1, kSleepAtOnce), Arrival::kAtOnce);
}

TEST(LaneCounter, SharesACacheLineWithSevenOthers) { EXPECT_EQ(sizeof(LaneCounter), 8U); }

TEST(LaneCounter, EndsEveryWaitOnceAborted) {
  LaneCounter counter;
  counter.complete(1);
  counter.abort();
  EXPECT_EQ(counter.await(1, kSleepAtOnce), Arrival::kAborted);
  EXPECT_EQ(counter.await(100, kSleepAtOnce), Arrival::kAborted);
}

TEST(LaneCounter, StaysAbortedWhateverIsCompleted) {
  LaneCounter counter;
  counter.abort();
  counter.complete(1);
  counter.finish(1);
  EXPECT_EQ(counter.await(2, kSleepAtOnce), Arrival::kAborted);
}

TEST(LaneCounter, ForgetsAnAbortAfterAReset) {
  LaneCounter counter;
  counter.abort();
  counter.reset();
  counter.complete(1);
  EXPECT_EQ(counter.await(1, kSleepAtOnce), Arrival::kAtOnce);
}

TEST(LaneCounter, CountsFromZeroAfterAReset) {
  LaneCounter counter;
  counter.complete(1);
  counter.reset();
  std::thread aborts([&] { counter.abort(); });
  EXPECT_EQ(counter.await(1, kSleepAtOnce), Arrival::kAborted);
  aborts.join();
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
      EXPECT_EQ(counter.await(count, kSleepAtOnce), Arrival::kAtOnce);
    });
  }
  started.wait();
  for (std::uint32_t i = 0; i < kCount; ++i) counter.complete(1);
  for (std::thread& sleeper : sleepers) sleeper.join();
}

TEST(LaneCounter, WakesASleeperWhoseCountWasSkippedWhenTheLaneFinishes) {
  for (int round = 0; round < 100; ++round) {
    LaneCounter counter;
    std::latch started(1);
    std::thread sleeper([&] {
      started.count_down();
      EXPECT_NE(counter.await(1, kSleepAtOnce), Arrival::kAborted);
    });
    started.wait();
    counter.complete(3);
    counter.finish(0);
    sleeper.join();
  }
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
      pong.complete(1);
    }
  });
  std::uint64_t expected = 0;
  for (std::uint32_t i = 1; i <= rounds; ++i) {
    value += i;
    expected = (expected + i) * 3 + 1;
    ping.complete(1);
    ASSERT_NE(pong.await(i, pauses), Arrival::kAborted);
    ASSERT_EQ(value, expected);
  }
  other.join();
}

TEST(LaneCounter, HandsOverTwentyThousandTimesSpinning) { ping_pong(spin_pauses(), 20'000); }

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
