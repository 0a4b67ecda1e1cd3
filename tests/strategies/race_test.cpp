#include "dynaflow/strategies/race.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

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

/// How many of 300 races the second runner wins, if the others take so much longer: noise is that
/// of the machine from round to round, and as much again within a round.
int won_by_second(std::size_t runners, std::size_t rounds, double slower, double noise) {
  std::mt19937 random(1);
  std::normal_distribution<double> varies(1.0, noise);
  int won = 0;
  for (int i = 0; i < 300; ++i) {
    Race race(runners);
    while (race.rounds() < rounds) {
      const double round = 1e6 * varies(random);
      std::vector<std::int64_t> taken;
      for (const std::size_t each : race.left()) {
        taken.push_back(std::llround((each == 1 ? round : round * slower) * varies(random)));
      }
      race.add(taken);
    }
    won += race.leader() == 1 ? 1 : 0;
  }
  return won;
}

TEST(Race, FindsFivePercentAmongNoiseTwiceAsLarge) {
  EXPECT_GE(won_by_second(3, 25, 1.05, 0.1), 240);
}

TEST(Race, FindsThreePercentInTenRounds) {
  EXPECT_GE(won_by_second(5, 10, 1.03, 0.04), 225) << "by plain medians it finds it in 213";
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
