// SPDX-License-Identifier: Apache-2.0
#include "tuner/measure/sampling.h"

#include <gtest/gtest.h>

#include <vector>

namespace gemm_tune {
namespace {

TEST(SamplingTest, ABatchLastsAtLeast500Microseconds) {
  EXPECT_EQ(launches_per_sample(4000), 1);
  EXPECT_EQ(launches_per_sample(500), 1);
  EXPECT_EQ(launches_per_sample(499), 2);
  EXPECT_EQ(launches_per_sample(10), 50);
  EXPECT_EQ(launches_per_sample(0.01), 1000);
  EXPECT_EQ(launches_per_sample(0), 1000);
}

TEST(SamplingTest, MedianOfOddAndEvenCounts) {
  EXPECT_DOUBLE_EQ(median(std::vector{3.0, 1.0, 2.0}), 2.0);
  EXPECT_DOUBLE_EQ(median(std::vector{4.0, 1.0, 2.0, 3.0}), 2.5);
  EXPECT_DOUBLE_EQ(median(std::vector{7.0}), 7.0);
}

TEST(SamplingTest, SpreadIsTheInterquartileRangeOverTheMedian) {
  EXPECT_DOUBLE_EQ(relative_spread(std::vector{1.0, 2.0, 3.0, 4.0, 5.0}), 2.0 / 3.0);
  EXPECT_DOUBLE_EQ(relative_spread(std::vector{5.0, 5.0, 5.0}), 0.0);
}

std::vector<double> one_to(int n) {
  std::vector<double> samples;
  for (int i = n; i >= 1; --i) samples.push_back(i);
  return samples;
}

// The ranks are those of the tables for the sign test, e.g. Conover, Practical Nonparametric
// Statistics, 3rd ed., 1999, table A3.
TEST(MedianIntervalTest, OrderStatisticsBoundTheMedianAt95Percent) {
  EXPECT_EQ(median_interval(one_to(6)), (Interval{1, 6}));
  EXPECT_EQ(median_interval(one_to(8)), (Interval{1, 8}));
  EXPECT_EQ(median_interval(one_to(9)), (Interval{2, 8}));
  EXPECT_EQ(median_interval(one_to(15)), (Interval{4, 12}));
  EXPECT_EQ(median_interval(one_to(25)), (Interval{8, 18}));
  EXPECT_EQ(median_interval(one_to(31)), (Interval{10, 22}));
  EXPECT_EQ(median_interval(one_to(50)), (Interval{18, 33}));
}

TEST(MedianIntervalTest, FewSamplesGiveTheirWholeRange) {
  EXPECT_EQ(median_interval(std::vector{7.0}), (Interval{7, 7}));
  EXPECT_EQ(median_interval(std::vector{3.0, 1.0, 2.0}), (Interval{1, 3}));
  EXPECT_EQ(median_interval(one_to(5)), (Interval{1, 5}));
}

// 10 us with every fifth sample off by `noise`, `factor` times as slow.
std::vector<double> steady(double factor, double noise = 0) {
  std::vector<double> samples;
  for (int i = 0; i < 15; ++i) samples.push_back(10 * factor * (i % 5 == 0 ? 1 + noise : 1));
  return samples;
}

TEST(TiesTest, TheFastestAndThoseWithinOnePercentAreTied) {
  EXPECT_EQ(ties({steady(1.02), steady(1.0), steady(1.009)}),
            (std::vector<bool>{false, true, true}));
  EXPECT_EQ(ties({steady(1.0)}), (std::vector<bool>{true}));
  EXPECT_EQ(ties({}), (std::vector<bool>{}));
}

TEST(TiesTest, ADriftOfTheClocksDoesNotHideASlowerOne) {
  std::vector<double> fast, slow;
  for (int round = 0; round < 15; ++round) {
    const double drift = 1 + 0.02 * round;  // the medians' own intervals overlap widely
    fast.push_back(10 * drift);
    slow.push_back(10.2 * drift);
  }
  EXPECT_EQ(ties({fast, slow}), (std::vector<bool>{true, false}));
}

TEST(TiesTest, OutliersDoNotMakeASlowerOneTied) {
  EXPECT_EQ(ties({steady(1.0, 0.5), steady(1.02)}), (std::vector<bool>{true, false}));
}

TEST(TiesTest, OneThatWasNotShownToBeSlowerIsTied) {
  std::vector<double> unsure;
  for (int round = 0; round < 15; ++round) unsure.push_back(round < 5 ? 10.0 : 10.5);
  EXPECT_EQ(ties({steady(1.0), unsure}), (std::vector<bool>{true, true}));
}

TEST(TiesTest, ThreeRoundsTieWhatTheirRangeLeavesOpen) {
  EXPECT_EQ(ties({{10, 10, 10}, {10.05, 10.5, 10.5}, {10.2, 10.5, 10.5}}),
            (std::vector<bool>{true, true, false}));
}

TEST(SampleRuleTest, SteadySamplesAreEnoughAtTheMinimum) {
  const SampleRule rule;
  EXPECT_FALSE(rule.enough(std::vector<double>{}));
  EXPECT_FALSE(rule.enough(std::vector{10.0, 10.0, 10.0, 10.0}));
  EXPECT_TRUE(rule.enough(std::vector{10.0, 10.0, 10.0, 10.0, 10.0}));
}

TEST(SampleRuleTest, NoisySamplesGoOnToTheMaximum) {
  const SampleRule rule;
  std::vector<double> noisy;
  for (int i = 0; i < 14; ++i) {
    noisy.push_back(i % 2 == 0 ? 10.0 : 12.0);
    EXPECT_FALSE(rule.enough(noisy)) << noisy.size();
  }
  noisy.push_back(10.0);
  EXPECT_TRUE(rule.enough(noisy));
}

TEST(SampleRuleTest, ACandidateIsTimedOnlyAsLongAsItCouldWin) {
  SampleRule rule;
  rule.best_us = 100;
  EXPECT_TRUE(rule.enough(std::vector{131.0}));
  EXPECT_FALSE(rule.enough(std::vector{129.0}));
  EXPECT_TRUE(rule.enough(std::vector{129.0, 111.0}));
  EXPECT_FALSE(rule.enough(std::vector{129.0, 109.0}));
  EXPECT_TRUE(rule.enough(std::vector{107.0, 107.0, 105.5}));
  // Within reach of the finals: timed in full, however many there are already.
  EXPECT_FALSE(rule.enough(std::vector{110.0, 130.0, 104.5, 120.0, 110.0, 125.0, 107.0}));
}

TEST(SampleRuleTest, TheFirstCandidateHasNobodyToLoseTo) {
  EXPECT_FALSE(SampleRule().is_beaten(std::vector{1e6, 1e6, 1e6}));
  SampleRule rule;
  rule.best_us = 100;
  EXPECT_FALSE(rule.is_beaten(std::vector<double>{}));
}

TEST(SampleRuleTest, ADisturbedSampleAmongOthersBeatsNobody) {
  SampleRule rule;
  rule.best_us = 100;
  EXPECT_FALSE(rule.is_beaten(std::vector{120.0, 99.0}));
  EXPECT_FALSE(rule.enough(std::vector{120.0, 99.0, 99.0}));
}

TEST(WarmUpTest, EndsWhenTheClocksHaveSettledAndItWasLongEnough) {
  const SampleRule rule;
  EXPECT_TRUE(is_warm(std::vector{10.0, 10.0, 10.0}, 1500, 1000, rule));
  EXPECT_FALSE(is_warm(std::vector{10.0, 10.0, 10.0}, 900, 1000, rule));
  EXPECT_FALSE(is_warm(std::vector{12.0, 11.0, 10.0}, 1500, 1000, rule));
}

TEST(WarmUpTest, EndsAtOnceForACandidateThatIsBeaten) {
  SampleRule rule;
  rule.best_us = 10;
  EXPECT_TRUE(is_warm(std::vector{14.0}, 500, 1000, rule));
  EXPECT_FALSE(is_warm(std::vector{12.0}, 500, 1000, rule));
  EXPECT_TRUE(is_warm(std::vector{11.0, 10.8, 10.6}, 900, 1000, rule));
}

TEST(SampleRuleTest, SlowLaunchesStopAtThreeSamplesOnceTheyTookTwoSeconds) {
  const SampleRule rule;
  EXPECT_FALSE(rule.enough(std::vector{0.9e6, 0.8e6}));
  EXPECT_TRUE(rule.enough(std::vector{0.9e6, 0.8e6, 0.7e6}));
  EXPECT_FALSE(rule.enough(std::vector{3e6, 2e6}));
  EXPECT_FALSE(rule.enough(std::vector{0.4e6, 0.5e6, 0.6e6}));
}

TEST(SampleRuleTest, SlowLaunchesThatAgreeStopAtThreeSamplesOnceTheyTookFiftyMilliseconds) {
  const SampleRule rule;
  EXPECT_TRUE(rule.enough(std::vector{20e3, 20.1e3, 20.1e3}));
  EXPECT_FALSE(rule.enough(std::vector{20e3, 20.1e3, 21e3}));
  EXPECT_FALSE(rule.enough(std::vector{20e3, 20e3}));
  EXPECT_FALSE(rule.enough(std::vector{15e3, 15e3, 15e3}));
}

TEST(SettledTest, TheLastThreeBatchesAgreeWithinHalfAPercent) {
  EXPECT_FALSE(settled(std::vector<double>{}));
  EXPECT_FALSE(settled(std::vector{10.0, 10.0}));
  EXPECT_TRUE(settled(std::vector{10.0, 10.04, 10.02}));
  EXPECT_FALSE(settled(std::vector{10.0, 10.06, 10.02}));
  EXPECT_TRUE(settled(std::vector{15.0, 12.0, 10.0, 10.0, 10.0}));
  EXPECT_FALSE(settled(std::vector{10.0, 10.0, 10.0, 11.0}));
}

TEST(OutliersTest, AreMoreThanFivePercentOffTheMedianOnEitherSide) {
  EXPECT_EQ(outliers(std::vector{10.0, 10.4, 10.6, 9.6, 9.4, 10.0, 10.0}),
            (std::vector<bool>{false, false, true, false, true, false, false}));
}

TEST(OutliersTest, FewerThanFiveSamplesHaveNone) {
  EXPECT_EQ(outliers(std::vector{10.0, 10.0, 10.0, 99.0}), (std::vector<bool>(4, false)));
  EXPECT_EQ(outliers(std::vector{10.0, 10.0, 10.0, 99.0, 10.0}),
            (std::vector<bool>{false, false, false, true, false}));
}

TEST(DisturbanceTest, SlowdownsAndOutliersAreTakenAgain) {
  EXPECT_EQ(disturbed(std::vector{10.0, 10.0, 10.0, 99.0, 10.0}, {"", "power brake", "", "", ""}),
            (std::vector<bool>{false, true, false, true, false}));
  EXPECT_EQ(disturbed(std::vector{10.0, 99.0}, {"", "power brake"}),
            (std::vector<bool>{false, true}));
}

TEST(DisturbanceTest, WhatIsKeptSaysWhatIsWrongWithIt) {
  EXPECT_EQ(disturbance_text(std::vector{10.0, 10.1}, {"", ""}), "");
  EXPECT_EQ(disturbance_text(std::vector{10.0, 10.0, 10.0, 99.0, 10.0}, {"", "", "", "", ""}),
            "1 of 5 samples more than 5 % off the median");
  EXPECT_EQ(disturbance_text(std::vector{10.0, 10.0, 10.0, 99.0, 10.0},
                             {"", "power brake", "", "power brake", ""}),
            "2 of 5 samples under power brake; 1 of 5 samples more than 5 % off the median");
}

std::vector<double> rounds(int count, double even, double odd) {
  std::vector<double> samples;
  for (int i = 0; i < count; ++i) samples.push_back(i % 2 == 0 ? even : odd);
  return samples;
}

TEST(FinalsRuleTest, SteadyLeadersAreEnoughAfterFifteenRounds) {
  const FinalsRule rule;
  const auto all = [](int count) {
    return std::vector{rounds(count, 11, 11), rounds(count, 10, 10), rounds(count, 10.05, 10.05)};
  };
  EXPECT_FALSE(rule.enough(all(14), 1e4));
  EXPECT_TRUE(rule.enough(all(15), 1e4));
}

TEST(FinalsRuleTest, AnUnsureTieOrBaselineGoesOnTo31Rounds) {
  const FinalsRule rule;
  const auto unsure_tie = [](int count) {
    return std::vector{rounds(count, 11, 11), rounds(count, 10, 10), rounds(count, 10, 10.2)};
  };
  const auto unsure_baseline = [](int count) {
    return std::vector{rounds(count, 11, 11.3), rounds(count, 10, 10)};
  };
  EXPECT_FALSE(rule.enough(unsure_tie(30), 1e4));
  EXPECT_TRUE(rule.enough(unsure_tie(31), 1e4));
  EXPECT_FALSE(rule.enough(unsure_baseline(30), 1e4));
  EXPECT_TRUE(rule.enough(unsure_baseline(31), 1e4));
}

TEST(FinalsRuleTest, ANoisyLoserKeepsNobodyWaiting) {
  EXPECT_TRUE(
      FinalsRule().enough({rounds(15, 11, 11), rounds(15, 10, 10), rounds(15, 12, 15)}, 1e4));
}

TEST(FinalsRuleTest, LongFinalsStopAtNineRounds) {
  const FinalsRule rule;
  EXPECT_FALSE(rule.enough({rounds(8, 5e5, 6e5)}, 4e6));
  EXPECT_TRUE(rule.enough({rounds(9, 5e5, 6e5)}, 5e6));
  EXPECT_FALSE(rule.enough({rounds(9, 11, 11)}, 1.4e6));
}

TEST(FinalsRuleTest, TheBaselineAloneCanBeTimed) {
  EXPECT_TRUE(FinalsRule().enough({rounds(15, 11, 11)}, 1e4));
  EXPECT_FALSE(FinalsRule().enough({rounds(15, 11, 11.3)}, 1e4));
}

constexpr std::int64_t kMiB = 1 << 20;

TEST(ColdCopiesTest, TwiceTheL2IsTouchedBetweenTwoUsesOfACopy) {
  EXPECT_EQ(cold_copies(3 * kMiB, 50 * kMiB, 80'000 * kMiB), 35);   // 512^3: 34 x 3 > 100
  EXPECT_EQ(cold_copies(100 * kMiB, 50 * kMiB, 80'000 * kMiB), 2);  // one other suffices
  EXPECT_EQ(cold_copies(99 * kMiB, 50 * kMiB, 80'000 * kMiB), 3);   // one other does not
  EXPECT_EQ(cold_copies(192 * kMiB, 50 * kMiB, 80'000 * kMiB), 2);  // 4096^3
}

TEST(ColdCopiesTest, NoneForTinyProblemsOrTooLittleMemory) {
  EXPECT_EQ(cold_copies(26'000, 50 * kMiB, 80'000 * kMiB), 4034);
  EXPECT_EQ(cold_copies(25'000, 50 * kMiB, 80'000 * kMiB), std::nullopt);
  EXPECT_EQ(cold_copies(0, 50 * kMiB, 80'000 * kMiB), std::nullopt);
  EXPECT_EQ(cold_copies(192 * kMiB, 50 * kMiB, (2 * 192 + 512) * kMiB), 2);
  EXPECT_EQ(cold_copies(192 * kMiB, 50 * kMiB, (2 * 192 + 511) * kMiB), std::nullopt);
}

TEST(ColdCopiesTest, ABatchRotatesAsOftenAsItTakes) {
  EXPECT_EQ(cold_launches_per_sample(2900, 2), 2);
  EXPECT_EQ(cold_launches_per_sample(100, 3), 6);  // 5 are needed
  EXPECT_EQ(cold_launches_per_sample(10, 129), 129);
}

}  // namespace
}  // namespace gemm_tune
