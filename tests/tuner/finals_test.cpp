// SPDX-License-Identifier: Apache-2.0
// The order of finishers, from literal times.
#include "tuner/job/finals.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace gemm_tune {
namespace {

Finisher finisher(int rows, double us, std::optional<double> cold_us,
                  Standing standing = Standing::tied) {
  Finisher one;
  one.config =
      check_config(parse_config("naive/BM=" + std::to_string(rows) + ",BN=32,COALESCED=1,PRED=0"));
  one.outcome.timing = Timing{us, {us}, 1};
  one.outcome.timing->cold_us = cold_us;
  one.outcome.standing = standing;
  one.outcome.error = 1e-7;
  one.in_finals = standing != Standing::search;
  return one;
}

std::vector<double> order(std::vector<Finisher> finishers, Timed timed = Timed::now) {
  rank(finishers);
  prefer_cold_among_equals(finishers, timed);
  std::vector<double> times;
  for (const Finisher& one : finishers) times.push_back(one.time_us());
  return times;
}

TEST(FinalsTest, TheLeastProductOfHotAndColdTimeComesFirstAmongFinalistsWithinThreePercent) {
  // As of a small batch on an H100: the fastest hot is the slowest cold.
  EXPECT_EQ(
      order({finisher(1, 10, 13.5), finisher(2, 10.2, 9.3, Standing::finals),
             finisher(4, 10.25, 9.3, Standing::finals), finisher(8, 10.4, 5, Standing::finals),
             finisher(16, 10.1, 5, Standing::search)}),
      (std::vector<double>{10.2, 10, 10.1, 10.25, 10.4}));
  EXPECT_EQ(order({finisher(1, 10, 10), finisher(2, 10.2, 9.9)}), (std::vector<double>{10, 10.2}));
}

TEST(FinalsTest, TheWinnerIsTiedSoThatTheDatabaseKnowsItAsTheWinnerOfFinals) {
  std::vector<Finisher> finishers = {finisher(1, 10, 13.5),
                                     finisher(2, 10.2, 9.3, Standing::finals)};
  prefer_cold_among_equals(finishers, Timed::now);
  EXPECT_EQ(finishers[0].time_us(), 10.2);
  EXPECT_EQ(finishers[0].outcome.standing, Standing::tied);
}

TEST(FinalsTest, OfStoredFinishersOnlyThoseWithVerifiedTwinsComeFirst) {
  std::vector<Finisher> stored = {finisher(1, 10, 13.5), finisher(2, 10.2, 9.3),
                                  finisher(4, 10.1, 11)};
  stored[0].outcome.twins_verified = stored[2].outcome.twins_verified = true;
  stored[1].outcome.twins_verified = false;
  EXPECT_EQ(order(stored, Timed::earlier), (std::vector<double>{10.1, 10, 10.2}));
}

TEST(FinalsTest, OfFinishersFromVersion3TheLeastColdTimeWithinHalfAPercentComesFirst) {
  EXPECT_EQ(order({finisher(1, 100, 150), finisher(2, 100.2, 140), finisher(4, 100.4, 145),
                   finisher(8, 101, 130)},
                  Timed::earlier),
            (std::vector<double>{100.2, 100, 100.4, 101}));
}

TEST(FinalsTest, TheHotTimeDecidesWhereNoneIsTiedOrTheFirstHasNoColdTime) {
  const std::vector<double> by_time = {100, 100.2};
  EXPECT_EQ(order({finisher(2, 100.2, 140), finisher(1, 100, std::nullopt)}), by_time);
  EXPECT_EQ(
      order({finisher(2, 100.2, 140, Standing::finals), finisher(1, 100, 150, Standing::finals)}),
      by_time);
  EXPECT_EQ(order({finisher(2, 100.2, 140), finisher(1, 100, 150, Standing::search)}), by_time);
  EXPECT_EQ(order({finisher(2, 100.2, 140), finisher(1, 100, 140)}), by_time);
}

TEST(FinalsTest, AFinisherWithoutAnErrorCannotOvertake) {
  Finisher second = finisher(2, 100.2, 140);
  second.outcome.error.reset();
  EXPECT_EQ(order({second, finisher(1, 100, 150)}), (std::vector<double>{100, 100.2}));
}

}  // namespace
}  // namespace gemm_tune
