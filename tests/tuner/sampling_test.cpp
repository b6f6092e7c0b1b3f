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
