// SPDX-License-Identifier: Apache-2.0
// What every strategy over an abstract space owes its caller: tests for the product's strategies
// and for those of research/, which instantiate EveryStrategyTest.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <ostream>
#include <random>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "search/space/search_space.h"
#include "search/strategy/strategy.h"

namespace gemm_tune {

using Points = std::vector<std::size_t>;

// A 6 x 5 x 4 grid with holes, an eighth of which fails.
struct Land {
  SearchSpace space;
  std::vector<std::optional<double>> time_us;
  std::size_t optimum = 0;
};

inline Land make_land() {
  std::vector<SearchSpace::ValueIndex> places;
  std::vector<std::optional<double>> time_us;
  std::mt19937_64 random(7);
  for (std::uint16_t a = 0; a < 6; ++a) {
    for (std::uint16_t b = 0; b < 5; ++b) {
      for (std::uint16_t c = 0; c < 4; ++c) {
        if ((a + 2 * b + 3 * c) % 7 == 0) continue;
        places.insert(places.end(), {a, b, c});
        const double time = 100 * std::exp(0.1 * (a - 3) * (a - 3) + 0.3 * b + 0.05 * a * c);
        time_us.push_back(random() % 8 == 0 ? std::nullopt : std::optional(time));
      }
    }
  }
  Land land = {SearchSpace({{"A", {"1", "2", "4", "8", "16", "32"}},
                            {"B", {"1", "2", "3", "4", "5"}},
                            {"C", {"0", "1", "2", "3"}}},
                           std::move(places)),
               std::move(time_us)};
  double best = std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i < land.time_us.size(); ++i) {
    if (!land.time_us[i] || *land.time_us[i] >= best) continue;
    best = *land.time_us[i];
    land.optimum = i;
  }
  return land;
}

// Asks `batch` at a time and tells them in reverse, until the budget or the space is exhausted.
inline Points run(Strategy& strategy, const Land& land, std::size_t budget, std::size_t batch) {
  Points asked;
  while (asked.size() < budget) {
    Points some = strategy.ask(std::min(batch, budget - asked.size()));
    if (some.empty()) break;
    asked.insert(asked.end(), some.begin(), some.end());
    std::reverse(some.begin(), some.end());
    for (const std::size_t point : some) strategy.tell(point, land.time_us.at(point));
  }
  return asked;
}

// A strategy with the function that makes it, of space, prior, budget and seed.
struct NamedStrategy {
  std::string name;
  std::function<std::unique_ptr<Strategy>(const SearchSpace&, std::vector<double>, std::size_t,
                                          std::uint64_t)>
      make;

  friend void PrintTo(const NamedStrategy& strategy, std::ostream* out) { *out << strategy.name; }
};

class EveryStrategyTest : public testing::TestWithParam<NamedStrategy> {
 protected:
  std::unique_ptr<Strategy> make(std::uint64_t seed, std::vector<double> prior_us = {}) const {
    return GetParam().make(land_.space, std::move(prior_us), land_.space.size(), seed);
  }

  const Land land_ = make_land();
};

TEST_P(EveryStrategyTest, AsksEveryPointOnceAndFindsTheOptimumWhenTheBudgetIsTheSpace) {
  for (const std::uint64_t seed : {1u, 2u, 3u}) {
    for (const std::size_t batch : {1u, 7u, 1000u}) {
      const auto strategy = make(seed);
      const Points asked = run(*strategy, land_, land_.space.size(), batch);
      EXPECT_EQ(asked.size(), land_.space.size());
      EXPECT_EQ(std::set(asked.begin(), asked.end()).size(), land_.space.size());
      EXPECT_NE(std::find(asked.begin(), asked.end(), land_.optimum), asked.end());
      EXPECT_TRUE(strategy->ask(1).empty());
    }
  }
}

TEST_P(EveryStrategyTest, NeverAsksTwiceNorOutsideTheSpaceWhateverIsTold) {
  std::mt19937_64 random(11);
  for (int trial = 0; trial < 10; ++trial) {
    const auto strategy = make(random());
    std::set<std::size_t> seen;
    for (;;) {
      if (random() % 4 == 0) {  // known from an earlier run, or told again
        const std::size_t point = random() % land_.space.size();
        seen.insert(point);
        strategy->tell(point, land_.time_us[point]);
      }
      const std::size_t count = 1 + random() % 5;
      const std::size_t known = seen.size();
      const Points some = strategy->ask(count);
      if (some.empty()) break;
      EXPECT_LE(some.size(), count);
      for (const std::size_t point : some) {
        ASSERT_LT(point, land_.space.size());
        seen.insert(point);
        if (random() % 3 != 0) strategy->tell(point, land_.time_us[point]);  // some never are
      }
      ASSERT_EQ(seen.size(), known + some.size()) << "a point was asked twice";
    }
    EXPECT_EQ(seen.size(), land_.space.size());
  }
}

TEST_P(EveryStrategyTest, AsksForAllButTheSparedWhereItSpares) {
  const bool spares = GetParam().name == "model" || GetParam().name == "random";
  const auto strategy = make(3);
  std::set<std::size_t> asked;
  const auto ask = [&] {
    const Points some = strategy->ask(5);
    for (const std::size_t point : some) strategy->tell(point, land_.time_us[point]);
    asked.insert(some.begin(), some.end());
    return !some.empty();
  };
  ask();
  std::set<std::size_t> spared;
  for (std::size_t point = 0; point < land_.space.size(); point += 3) {
    if (!asked.contains(point)) spared.insert(point);
  }
  for (const std::size_t point : spared) strategy->spare(point);
  while (ask()) {
  }
  EXPECT_GT(spared.size(), 10u);
  EXPECT_EQ(asked.size(), land_.space.size() - (spares ? spared.size() : 0));
}

TEST_P(EveryStrategyTest, SameSeedAndTellsGiveTheSameRun) {
  const Points asked = run(*make(5), land_, 60, 3);
  EXPECT_EQ(run(*make(5), land_, 60, 3), asked);
  const bool drawn = GetParam().name != "exhaustive";
  EXPECT_EQ(run(*make(6), land_, 60, 3) != asked, drawn);
}

TEST_P(EveryStrategyTest, GoesOnWhenEverythingFails) {
  const auto strategy = make(1);
  std::size_t asked = 0;
  for (Points some = strategy->ask(7); !some.empty(); some = strategy->ask(7)) {
    for (const std::size_t point : some) strategy->tell(point, std::nullopt);
    asked += some.size();
  }
  EXPECT_EQ(asked, land_.space.size());
}

TEST_P(EveryStrategyTest, SearchesSpacesOfOnePointAndOfNone) {
  const SearchSpace one({{"A", {"1"}}}, {0}), none({{"A", {"1"}}}, {});
  const auto strategy = GetParam().make(one, {}, 5, 1);
  EXPECT_EQ(strategy->ask(3), Points{0});
  strategy->tell(0, 1.0);
  EXPECT_TRUE(strategy->ask(1).empty());
  EXPECT_TRUE(GetParam().make(none, {}, 5, 1)->ask(1).empty());
}

TEST_P(EveryStrategyTest, RefusesAPointOutsideTheSpace) {
  EXPECT_THROW(make(1)->tell(land_.space.size(), 1.0), std::out_of_range);
}

TEST_P(EveryStrategyTest, SaysWhatMoreWouldGainOnlyWhereThereIsAModel) {
  const auto strategy = make(1);
  EXPECT_EQ(strategy->expected_gain(10), std::nullopt);
  run(*strategy, land_, 60, 4);
  EXPECT_EQ(strategy->expected_gain(10).has_value(), GetParam().name == "model");
}

}  // namespace gemm_tune
