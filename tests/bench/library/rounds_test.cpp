// SPDX-License-Identifier: Apache-2.0
#include "bench/library/rounds.h"

#include <gtest/gtest.h>

namespace gemm_tune {
namespace {

TEST(Rounds, EveryOtherRoundRunsBackwards) {
  EXPECT_EQ(Rounds::turn(0, 0, 3), 0U);
  EXPECT_EQ(Rounds::turn(2, 0, 3), 2U);
  EXPECT_EQ(Rounds::turn(0, 1, 3), 2U);
  EXPECT_EQ(Rounds::turn(2, 1, 3), 0U);
}

TEST(Rounds, QuantilesLieBetweenTheTimes) {
  Rounds rounds(1);
  for (const double time : {4.0, 1.0, 3.0, 2.0, 5.0}) rounds.add({time});
  EXPECT_EQ(rounds.count(), 5U);
  EXPECT_DOUBLE_EQ(rounds.quantile(0, 0.5), 3);
  EXPECT_DOUBLE_EQ(rounds.quantile(0, 0.1), 1.4);
  EXPECT_DOUBLE_EQ(rounds.quantile(0, 0.9), 4.6);
  EXPECT_DOUBLE_EQ(rounds.quantile(0, 1), 5);
}

TEST(Rounds, ARatioIsTheMedianOfTheRoundsRatiosNotThatOfTheMedians) {
  Rounds rounds(2);  // the ratio of the medians is 1; the clocks halved in the second round
  rounds.add({2, 1});
  rounds.add({4, 2});
  rounds.add({1, 4});
  EXPECT_DOUBLE_EQ(rounds.ratio(0, 1), 2);
  EXPECT_DOUBLE_EQ(rounds.ratio(1, 0), 0.5);
}

}  // namespace
}  // namespace gemm_tune
