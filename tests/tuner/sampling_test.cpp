#include "tuner/sampling.h"

#include <gtest/gtest.h>

#include <vector>

namespace gemm_tune {
namespace {

TEST(SamplingTest, ABatchLastsAtLeast200Microseconds) {
  EXPECT_EQ(launches_per_sample(4000), 1);
  EXPECT_EQ(launches_per_sample(200), 1);
  EXPECT_EQ(launches_per_sample(199), 2);
  EXPECT_EQ(launches_per_sample(10), 20);
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

TEST(SampleRuleTest, ASlowCandidateStopsAtThreeSamples) {
  SampleRule rule;
  rule.cutoff_us = 13;
  EXPECT_FALSE(rule.enough(std::vector{20.0, 20.0}));
  EXPECT_TRUE(rule.enough(std::vector{20.0, 20.0, 20.0}));
  EXPECT_FALSE(rule.enough(std::vector{20.0, 12.0, 20.0}));
}

}  // namespace
}  // namespace gemm_tune
