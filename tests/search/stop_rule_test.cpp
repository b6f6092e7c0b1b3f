// SPDX-License-Identifier: Apache-2.0
#include "search/strategy/stop_rule.h"

#include <gtest/gtest.h>

namespace gemm_tune {
namespace {

TEST(StopRuleTest, ASearchEndsWhereTheNextTriesPromiseLittleAndTheLastOnesBroughtNothing) {
  const StopRule rule;
  EXPECT_TRUE(rule.is_over({20, 8, 0.03, 0.009}));   // 4 + 4000 * 0.03^2 = 7.6
  EXPECT_FALSE(rule.is_over({20, 8, 0.03, 0.011}));  // they promise more than they cost
  EXPECT_FALSE(rule.is_over({20, 7, 0.03, 0.009}));  // an improvement was not long ago
  EXPECT_FALSE(rule.is_over({7, 100, 0.03, 0.0}));   // too few results to know the prior by
}

TEST(StopRuleTest, ConfigsOneStepFromTheBestAreAskedForBeforeASearchEnds) {
  const StopRule rule;
  EXPECT_TRUE(rule.is_over({20, 8, 0.03, 0.009, 8, 0}));
  EXPECT_FALSE(rule.is_over({20, 8, 0.03, 0.009, 8, 1}));
}

TEST(StopRuleTest, AWrongPriorIsDoubtedLonger) {
  const StopRule rule;
  EXPECT_FALSE(rule.is_over({60, 43, 0.1, 0}));
  EXPECT_TRUE(rule.is_over({60, 44, 0.1, 0}));
  EXPECT_FALSE(rule.is_over({160, 160, 0.2, 0}));
}

TEST(StopRuleTest, NearAKnownSizeResultsWithoutAGainEndASearch) {
  const StopRule rule;
  // Timed, since the best, prior's error, promise, since a gain of a percent: an H100 at 1280.
  const Outlook outlook = {40, 2, 0.15, 0.03, 28};
  EXPECT_FALSE(rule.is_over(outlook));
  EXPECT_TRUE(rule.is_over(outlook, /*is_near_known=*/true));
  EXPECT_FALSE(rule.is_over({40, 2, 0.15, 0.03, 28, 1}, true));  // a likely variant is left
  EXPECT_FALSE(rule.is_over({40, 27, 0, 0, 27}, true));
  EXPECT_FALSE(rule.is_over({7, 28, 0, 0, 28}, true));  // the others failed
}

}  // namespace
}  // namespace gemm_tune
