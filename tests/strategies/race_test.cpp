#include "dynaflow/strategies/race.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

namespace dynaflow {
namespace {

using testing::ElementsAre;

TEST(Race, KeepsAllUntilChanceIsRuledOut) {
  Race race(2);
  for (int i = 0; i < 4; ++i) race.add(std::vector<std::int64_t>{100, 110});
  EXPECT_THAT(race.left(), ElementsAre(0, 1)) << "one in sixteen such races is chance";
  race.add(std::vector<std::int64_t>{100, 110});
  EXPECT_THAT(race.left(), ElementsAre(0)) << "one in thirty-two";
  EXPECT_EQ(race.rounds(), 5U);
}

TEST(Race, ComparesWithinARoundWhateverTheMachineDoes) {
  Race race(2);
  for (const std::int64_t speed : {1, 7, 2, 9, 3}) {
    race.add(std::vector<std::int64_t>{105 * speed, 100 * speed});
  }
  EXPECT_THAT(race.left(), ElementsAre(1));
}

TEST(Race, EqualRunnersStay) {
  Race race(3);
  for (int i = 0; i < 50; ++i) race.add(std::vector<std::int64_t>{100, 100, 100});
  EXPECT_THAT(race.left(), ElementsAre(0, 1, 2));
  EXPECT_EQ(race.leader(), 0U);
}

TEST(Race, ALuckyRoundDecidesNothing) {
  Race race(2);
  for (const std::int64_t slow : {100, 100, 10, 100, 100, 100}) {
    race.add(std::vector<std::int64_t>{slow, 80});
  }
  EXPECT_EQ(race.leader(), 1U);
  EXPECT_EQ(race.taken_ns(0), 100);
  EXPECT_EQ(race.taken_ns(1), 80);
}

TEST(Race, WhoDroppedOutIsTakenByTheSameMachineAsTheRest) {
  Race race(2);
  for (int i = 0; i < 5; ++i) race.add(std::vector<std::int64_t>{125, 100});
  for (int i = 0; i < 20; ++i) race.add(std::vector<std::int64_t>{200});
  EXPECT_EQ(race.taken_ns(1), 200) << "twice as slow since then";
  EXPECT_EQ(race.taken_ns(0), 250);
}

TEST(Race, HasNoTimesBeforeTheFirstRound) {
  EXPECT_EQ(Race(1).taken_ns(0), 0);
  EXPECT_EQ(Race(1).leader(), 0U);
}

TEST(Race, FindsFivePercentAmongNoiseTwiceAsLarge) {
  std::mt19937 random(1);
  std::normal_distribution<double> noise(1.0, 0.1);
  int won = 0;
  for (int i = 0; i < 100; ++i) {
    Race race(3);
    while (race.rounds() < 25) {
      std::vector<std::int64_t> taken;
      for (const std::size_t each : race.left()) {
        const double time = each == 1 ? 1e6 : 1.05e6;
        taken.push_back(static_cast<std::int64_t>(time * noise(random)));
      }
      race.add(taken);
    }
    won += race.leader() == 1 ? 1 : 0;
  }
  EXPECT_GE(won, 80);
}

TEST(Race, RarelyDropsTheFastest) {
  std::mt19937 random(2);
  std::normal_distribution<double> noise(1.0, 0.05);
  int lost = 0;
  for (int i = 0; i < 200; ++i) {
    Race race(2);
    while (race.rounds() < 25 && race.left().size() == 2) {
      race.add(std::vector<std::int64_t>{static_cast<std::int64_t>(1e6 * noise(random)),
                                         static_cast<std::int64_t>(1.03e6 * noise(random))});
    }
    lost += race.left() == std::vector<std::size_t>{1} ? 1 : 0;
  }
  EXPECT_LE(lost, 20);
}

}  // namespace
}  // namespace dynaflow
