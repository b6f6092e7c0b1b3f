// SPDX-License-Identifier: Apache-2.0
#include "tuner/job/time_limit.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace gemm_tune {
namespace {

using std::chrono::seconds;

RunningClock::time_point at(int second) { return RunningClock::time_point() + seconds(second); }

TEST(TimeLimitTest, AProblemGetsTimeByWhatItIsWorth) {
  const TimeLimit limit(at(120), {60, 30, 30}, 1);
  EXPECT_EQ(limit.share(0, at(0)).own, at(60));
  EXPECT_EQ(limit.share(1, at(60)).own, at(90));
  EXPECT_EQ(limit.share(2, at(90)).own, at(120));
}

TEST(TimeLimitTest, TimeThatAProblemLeavesGoesToThoseBehindIt) {
  const TimeLimit limit(at(120), {60, 30, 30}, 1);
  EXPECT_EQ(limit.share(1, at(20)).own, at(70));
  EXPECT_EQ(limit.share(2, at(20)).own, at(120));
}

TEST(TimeLimitTest, TheTimeForAFirstResultIsKeptForEachProblem) {
  const TimeLimit limit(at(120), {60, 30, 30}, 1);
  EXPECT_EQ(limit.share(1, at(60), {seconds(10), {}}).own, at(90));
  EXPECT_EQ(limit.share(0, at(0), {seconds(40), {}}).own, at(40));
  EXPECT_EQ(limit.share(0, at(0), {seconds(500), {}}).own, at(120));
}

TEST(TimeLimitTest, TheTimeBesideSearchesIsKeptForEachProblem) {
  const TimeLimit limit(at(120), {60, 30, 30}, 1);
  const TimeShare share = limit.share(0, at(0), {seconds(5), seconds(15)});
  EXPECT_EQ(share.own, at(5 + (120 - 3 * 20) / 2));
  EXPECT_EQ(share.last, at(105));
  EXPECT_EQ(limit.share(2, at(112), {seconds(5), seconds(15)}).own, at(112));
}

// What becomes of a run of problems of the same costs, whose searches take all their time.
struct Simulated {
  std::vector<bool> tried;
  RunningClock::time_point end;
};

Simulated run(seconds time, const std::vector<double>& weights, const ProblemCost& cost) {
  const TimeLimit limit(at(0) + time, weights, 1);
  Simulated run{{}, at(0)};
  for (std::size_t i = 0; i < weights.size(); ++i) {
    if (limit.is_over(run.end)) {
      run.tried.push_back(false);
      continue;
    }
    const TimeShare share = limit.share(i, run.end, i == 0 ? ProblemCost() : cost);
    const auto first = run.end + cost.first_result;
    run.tried.push_back(first <= share.last);
    run.end = std::max(run.end, std::min(share.last, std::max(share.own, first)));
    if (run.tried.back()) run.end += cost.between_searches;
  }
  return run;
}

// 20 problems of a program, of which the first takes a seventh of the GPU time.
std::vector<double> weights_of_a_capture() {
  std::vector<double> weights = {15};
  for (int i = 1; i < 20; ++i) weights.push_back(100.0 / (6 + i));
  return weights;
}

TEST(TimeLimitTest, EachProblemOfACaptureGetsATryAndTheRunEndsInTime) {
  for (const int time : {60, 120, 600}) {
    const ProblemCost cost = {std::chrono::milliseconds(800), std::chrono::milliseconds(1600)};
    const Simulated all = run(seconds(time), weights_of_a_capture(), cost);
    EXPECT_EQ(std::count(all.tried.begin(), all.tried.end(), true), 20) << time;
    EXPECT_LE(all.end, at(time) + cost.between_searches) << time;
  }
}

TEST(TimeLimitTest, WhereTheTimeIsTooShortForAllItIsThoseOfLeastWorthThatGoWithout) {
  const ProblemCost cost = {seconds(2), seconds(4)};
  const Simulated some = run(seconds(60), weights_of_a_capture(), cost);
  const auto untried = std::find(some.tried.begin(), some.tried.end(), false);
  EXPECT_GE(untried - some.tried.begin(), 8);
  EXPECT_EQ(std::find(untried, some.tried.end(), true), some.tried.end());
  EXPECT_LE(some.end, at(60) + cost.between_searches);
}

TEST(TimeLimitTest, ProblemsThatAreUnderWayTogetherShareTheTimeOfAll) {
  const TimeLimit limit(at(120), {1, 1, 1, 1}, 2);
  EXPECT_EQ(limit.share(0, at(0)).own, at(60));
  EXPECT_EQ(limit.share(1, at(0)).own, at(80));
  EXPECT_EQ(limit.share(3, at(90)).own, at(120));
}

TEST(TimeLimitTest, NoProblemWithoutAResultEndsBeforeTheRun) {
  const TimeShare share = TimeLimit(at(120), {1, 1}, 1).share(0, at(0));
  EXPECT_EQ(share.own, at(60));
  EXPECT_FALSE(share.is_over(at(59), true));
  EXPECT_TRUE(share.is_over(at(60), true));
  EXPECT_FALSE(share.is_over(at(119), false));
  EXPECT_TRUE(share.is_over(at(120), false));
}

TEST(TimeLimitTest, BehindTheRunsEndNothingIsLeft) {
  const TimeShare share = TimeLimit(at(120), {1, 0}, 1).share(1, at(130));
  EXPECT_TRUE(share.is_over(at(130), false));
}

}  // namespace
}  // namespace gemm_tune
