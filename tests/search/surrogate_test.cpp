// SPDX-License-Identifier: Apache-2.0
#include "search/strategy/surrogate.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numeric>
#include <random>
#include <vector>

namespace gemm_tune {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

std::vector<std::string> numbers(std::size_t count) {
  std::vector<std::string> texts;
  for (std::size_t i = 0; i < count; ++i) texts.push_back(std::to_string(i));
  return texts;
}

// All of a grid of a x b points, and a parameter without a choice.
SearchSpace grid(std::size_t a, std::size_t b) {
  std::vector<SearchSpace::ValueIndex> places;
  for (std::size_t i = 0; i < a; ++i) {
    for (std::size_t j = 0; j < b; ++j) {
      places.push_back(static_cast<SearchSpace::ValueIndex>(i));
      places.push_back(0);
      places.push_back(static_cast<SearchSpace::ValueIndex>(j));
    }
  }
  return SearchSpace({{"A", numbers(a)}, {"fixed", {"1"}}, {"B", numbers(b)}}, std::move(places));
}

std::vector<std::size_t> all_of(const SearchSpace& space) {
  std::vector<std::size_t> all(space.size());
  std::iota(all.begin(), all.end(), std::size_t{0});
  return all;
}

TEST(SurrogateTest, PredictsByTheFormulasOfTheTextbook) {
  // Three points on a line, the outer two observed, length 1, hardly any noise. Matern-5/2 at 0.5
  // is r, at 1 is q; by symmetry the middle gets the offset, which is the mean.
  const SearchSpace space({{"A", numbers(3)}}, {0, 1, 2});
  Surrogate::Constants constants;
  constants.length = 0;
  constants.noise = -12;
  Surrogate surrogate(space, {}, constants);
  surrogate.fit({0, 2}, {1.0, 3.0}, all_of(space), 0);
  EXPECT_NEAR(surrogate.mean()[0], 1.0, 1e-3);
  EXPECT_NEAR(surrogate.mean()[1], 2.0, 1e-5);
  EXPECT_NEAR(surrogate.mean()[2], 3.0, 1e-3);
  const double r = 0.828649, q = 0.523994;
  // Residuals -1 and 1: their quadratic form is 2 / (1 - q); one more observation says 0.25.
  const double scale = (2 / (1 - q) + 0.25) / 3;
  EXPECT_NEAR(surrogate.variance()[1], scale * (1 - 2 * r * r / (1 + q)), 1e-4);
  EXPECT_NEAR(surrogate.variance()[0], 0, 1e-4);
}

TEST(SurrogateTest, OneMoreObservationIsAsGoodAsStartingAnew) {
  const SearchSpace space = grid(12, 9);
  std::mt19937_64 random(3);
  std::vector<std::size_t> observed;
  std::vector<double> values;
  Surrogate grown(space, {}, {});
  for (int i = 0; i < 80; ++i) {  // more than the room that a fit leaves
    observed.push_back(random() % space.size());
    values.push_back(std::sin(static_cast<double>(observed.back())));
    if (i == 2) grown.fit(observed, values, all_of(space), 0);
    if (i > 2) grown.observe(observed.back());
  }
  grown.set_values(values);
  Surrogate fresh(space, {}, {});
  fresh.fit(observed, values, all_of(space), 0);
  EXPECT_LT((grown.mean() - fresh.mean()).cwiseAbs().maxCoeff(), 0.02);
  EXPECT_LT((grown.variance() - fresh.variance()).cwiseAbs().maxCoeff(), 0.01);
}

TEST(SurrogateTest, WhatIsUnderWayMovesNoMeanAndLeavesLessDoubt) {
  const SearchSpace space = grid(8, 8);
  Surrogate surrogate(space, {}, {});
  surrogate.fit({0, 20, 63}, {1.0, 2.0, 1.5}, all_of(space), 0);
  const Eigen::VectorXf mean = surrogate.mean(), variance = surrogate.variance();
  surrogate.observe(40);
  surrogate.set_values({1.0, 2.0, 1.5, kNan});
  EXPECT_LT((surrogate.mean() - mean).cwiseAbs().maxCoeff(), 1e-4);
  EXPECT_LT(surrogate.variance()[40], 0.01 * variance[40]);
  EXPECT_LT(surrogate.variance()[41], variance[41]);
  surrogate.set_values({1.0, 2.0, 1.5, 5.0});
  EXPECT_NEAR(surrogate.mean()[40], 5.0, 0.01);
}

TEST(SurrogateTest, MeansAndCovariancesAreThoseOfTheScoredPoints) {
  const SearchSpace space = grid(7, 6);
  std::vector<double> prior(space.size());
  for (std::size_t i = 0; i < prior.size(); ++i) prior[i] = 0.01 * static_cast<double>(i);
  Surrogate surrogate(space, prior, {});
  const std::vector<std::size_t> all = all_of(space);
  surrogate.fit({0, 9, 25, 41}, {1.0, 2.0, 1.5, 0.5}, all, 10);
  surrogate.observe(30);
  EXPECT_LT((surrogate.means(all) - surrogate.mean()).cwiseAbs().maxCoeff(), 1e-4);
  const std::vector<std::size_t> some = {30, 31, 3, 9};
  const Eigen::MatrixXd covariance = surrogate.covariance(some);
  for (int i = 0; i < 4; ++i) {
    const auto at = static_cast<Eigen::Index>(some[static_cast<std::size_t>(i)]);
    EXPECT_NEAR(covariance(i, i), surrogate.variance()[at], 1e-4);
    for (int j = 0; j < i; ++j) EXPECT_NEAR(covariance(i, j), covariance(j, i), 1e-6);
  }
  EXPECT_NEAR(covariance(0, 1), 0, 0.01);  // 30 is as good as known
  EXPECT_GT(covariance(1, 1), 0.01);
}

TEST(SurrogateTest, OfOneUnknownObservationThePriorMeanIsExpected) {
  const SearchSpace space = grid(4, 4);
  std::vector<double> prior(space.size(), 3.0);
  prior[5] = 2.0;
  Surrogate surrogate(space, prior, {});
  surrogate.fit({5}, {kNan}, all_of(space), 0);
  EXPECT_FLOAT_EQ(surrogate.mean()[5], 2.0f);
  EXPECT_FLOAT_EQ(surrogate.mean()[10], 3.0f);
  EXPECT_LT(surrogate.variance()[5], 0.01f * surrogate.variance()[15]);
}

TEST(SurrogateTest, FarFromObservationsThePriorMeanHolds) {
  const SearchSpace space({{"A", numbers(101)}}, [] {
    std::vector<SearchSpace::ValueIndex> places(101);
    std::iota(places.begin(), places.end(), SearchSpace::ValueIndex{0});
    return places;
  }());
  std::vector<double> prior(101, 2.0);
  prior[100] = 7.0;
  Surrogate::Constants constants;
  constants.length = std::log(0.05);
  Surrogate surrogate(space, prior, constants);
  surrogate.fit({0}, {3.0}, all_of(space), 0);
  EXPECT_NEAR(surrogate.mean()[50], 3.0, 1e-4);  // the prior is off by one everywhere
  EXPECT_NEAR(surrogate.mean()[100], 8.0, 1e-4);
}

TEST(SurrogateTest, FindsWhichParameterMatters) {
  const SearchSpace space = grid(10, 10);
  std::mt19937_64 random(1);
  std::vector<std::size_t> observed;
  std::vector<double> values;
  for (int i = 0; i < 40; ++i) {
    observed.push_back(random() % space.size());
    values.push_back(std::sin(0.9 * static_cast<double>(observed.back() / 10)));
  }
  Surrogate surrogate(space, {}, {});
  surrogate.fit(observed, values, all_of(space), 40);
  ASSERT_EQ(surrogate.lengths().size(), 2);  // the third has no choice
  EXPECT_LT(surrogate.lengths()[0], 0.7);
  EXPECT_GT(surrogate.lengths()[1], 2 * surrogate.lengths()[0]);
}

}  // namespace
}  // namespace gemm_tune
