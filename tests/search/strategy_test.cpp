#include "search/strategy.h"

#include <gtest/gtest.h>

#include <limits>
#include <numeric>
#include <random>
#include <set>
#include <stdexcept>
#include <vector>

namespace gemm_tune {
namespace {

using Points = std::vector<std::size_t>;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

KernelFamily line_family(std::vector<int> values) {
  KernelFamily family;
  family.name = "line";
  family.params = {{"X", std::move(values), ""}};
  return family;
}

std::vector<KnownConfig> points_of(const KernelFamily& family,
                                   const std::vector<std::vector<int>>& values) {
  std::vector<KnownConfig> points;
  for (const std::vector<int>& v : values) {
    KnownConfig point;
    point.family = &family;
    point.values = v;
    points.push_back(point);
  }
  return points;
}

// A 6 x 5 x 4 grid with holes, and times that the prior knows only roughly.
struct Landscape {
  KernelFamily family;
  std::vector<KnownConfig> points;
  std::vector<double> prior_us;
  std::vector<std::optional<double>> time_us;

  Landscape() {
    family.name = "grid";
    family.params = {
        {"A", {1, 2, 4, 8, 16, 32}, ""}, {"B", {1, 2, 3, 4, 5}, ""}, {"C", {0, 1, 2, 3}, ""}};
    std::vector<std::vector<int>> values;
    for (int a : family.params[0].values) {
      for (int b : family.params[1].values) {
        for (int c : family.params[2].values) {
          if ((a + b + c) % 7 != 0) values.push_back({a, b, c});
        }
      }
    }
    points = points_of(family, values);
    std::mt19937_64 random(7);
    for (const std::vector<int>& v : values) {
      const double time = 100 + (v[0] - 8) * (v[0] - 8) + 5 * v[1] + 3 * v[2];
      prior_us.push_back(time * (0.5 + static_cast<double>(random() % 1000) / 1000));
      if (random() % 8 == 0) {
        time_us.push_back(std::nullopt);
      } else {
        time_us.push_back(time);
      }
    }
  }

  // Asks in batches until `budget` points are asked or nothing is left.
  Points run(Strategy& strategy, std::size_t budget, std::size_t batch) const {
    Points asked;
    while (asked.size() < budget) {
      const Points some = strategy.ask(std::min(batch, budget - asked.size()));
      if (some.empty()) break;
      for (const std::size_t point : some) {
        asked.push_back(point);
        if (point < points.size()) strategy.tell(point, time_us[point]);
      }
    }
    return asked;
  }
};

TEST(GuidedStrategyTest, WalksByAscendingPriorForHalfTheBudget) {
  const KernelFamily family = line_family({1, 2, 3, 4, 5, 6});
  const auto points = points_of(family, {{1}, {2}, {3}, {4}, {5}, {6}});
  const auto strategy = make_guided(points, {60, 20, 50, 10, 40, 30}, 6, 1);
  EXPECT_EQ(strategy->ask(3), (Points{3, 1, 5}));
}

TEST(GuidedStrategyTest, ThenAlternatesNeighboursOfTheBestWithTheWalk) {
  const KernelFamily family = line_family({1, 2, 3, 4, 5, 6, 7, 8});
  const auto points = points_of(family, {{1}, {2}, {3}, {4}, {5}, {6}, {7}, {8}});
  // The walk goes 0, 1, 2, ...; the last point turns out best, against its prior.
  const auto strategy = make_guided(points, {1, 2, 3, 4, 5, 6, 8, 7}, 4, 1);
  EXPECT_EQ(strategy->ask(2), (Points{0, 1}));
  strategy->tell(0, 50.0);
  strategy->tell(1, 60.0);
  strategy->tell(7, 10.0);
  EXPECT_EQ(strategy->ask(1), (Points{6}));  // beside the best
  EXPECT_EQ(strategy->ask(1), (Points{2}));  // the walk again
}

TEST(GuidedStrategyTest, LooksAroundAfter64AsksHoweverLargeTheBudget) {
  std::vector<int> values(1000);
  std::iota(values.begin(), values.end(), 1);
  const KernelFamily family = line_family(values);
  std::vector<std::vector<int>> all;
  std::vector<double> prior_us;
  for (const int value : values) {
    all.push_back({value});
    prior_us.push_back(value);
  }
  const auto points = points_of(family, all);
  const auto strategy = make_guided(points, prior_us, 1000, 1);
  strategy->tell(900, 1.0);
  for (std::size_t i = 0; i < 64; ++i) EXPECT_EQ(strategy->ask(1), Points{i});
  EXPECT_EQ(strategy->ask(1), Points{899});
}

TEST(GuidedStrategyTest, WalkPutsNearTwinsOff) {
  KernelFamily family;
  family.name = "three";
  family.params = {{"A", {1, 2}, ""}, {"B", {1, 2}, ""}, {"C", {1, 2}, ""}, {"D", {1, 2}, ""}};
  // The second and third differ from the first in one and in two parameters, the fourth in three.
  const auto points =
      points_of(family, {{1, 1, 1, 1}, {1, 1, 1, 2}, {1, 1, 2, 2}, {1, 2, 2, 2}, {2, 2, 2, 2}});
  const auto strategy = make_guided(points, {100, 100.1, 100.2, 100.3, 105.15}, 10, 1);
  // A twin counts as 5 % slower; what is 5 % slower itself comes between 105.1 and 105.2.
  EXPECT_EQ(strategy->ask(5), (Points{0, 3, 1, 4, 2}));
}

TEST(GuidedStrategyTest, WalkTakesAPointThatThePriorTellsApartForNoTwin) {
  const KernelFamily family = line_family({1, 2, 3});
  const auto points = points_of(family, {{1}, {2}, {3}});
  EXPECT_EQ(make_guided(points, {100, 102, 104}, 6, 1)->ask(3), (Points{0, 1, 2}));
  // 100.5 is within 1 % of 100.
  EXPECT_EQ(make_guided(points, {100, 100.5, 104}, 6, 1)->ask(3), (Points{0, 2, 1}));
}

TEST(GuidedStrategyTest, NeighbourhoodSkipsValuesThatGiveNoPoint) {
  const KernelFamily family = line_family({1, 2, 4, 8, 16});
  const auto points = points_of(family, {{1}, {8}, {16}});
  const auto strategy = make_guided(points, {1, 9, 2}, 2, 1);
  EXPECT_EQ(strategy->ask(1), (Points{0}));
  strategy->tell(0, 5.0);
  EXPECT_EQ(strategy->ask(1), (Points{1}));  // 8 is the next above 1; the walk would say 16
}

TEST(GuidedStrategyTest, NeighboursDoNotCrossFamilies) {
  const KernelFamily left = line_family({1, 2}), right = line_family({1, 2});
  std::vector<KnownConfig> points = points_of(left, {{1}});
  points.push_back(points_of(right, {{2}})[0]);
  points.push_back(points_of(right, {{1}})[0]);
  const auto strategy = make_guided(points, {1, 3, 2}, 2, 1);
  EXPECT_EQ(strategy->ask(1), (Points{0}));
  strategy->tell(0, 5.0);
  EXPECT_EQ(strategy->ask(1), (Points{2}));  // no neighbour in its own family: the walk
}

TEST(GuidedStrategyTest, NeighbourInheritsHowFarThePriorWasOff) {
  KernelFamily family = line_family({1, 2, 3, 4, 5, 6});
  const auto points = points_of(family, {{1}, {2}, {5}, {6}});
  // Told: point 0 takes ten times its prior, point 3 a tenth. Neighbour 2 of point 3 is expected at
  // 3, neighbour 1 of point 0 at 200, although its prior is the smaller.
  const auto strategy = make_guided(points, {1, 20, 30, 100}, 2, 1);
  strategy->tell(0, 10.0);
  strategy->tell(3, 10.0);
  EXPECT_EQ(strategy->ask(1), (Points{1}));  // the walk
  EXPECT_EQ(strategy->ask(1), (Points{2}));
}

TEST(GuidedStrategyTest, FindsTheOptimumWhenTheBudgetCoversTheSpace) {
  const Landscape land;
  for (const std::uint64_t seed : {1u, 2u, 3u}) {
    for (const std::size_t batch : {1u, 3u, 1000u}) {
      const auto strategy = make_guided(land.points, land.prior_us, land.points.size(), seed);
      const Points asked = land.run(*strategy, land.points.size(), batch);
      EXPECT_EQ(std::set<std::size_t>(asked.begin(), asked.end()).size(), land.points.size());
      EXPECT_EQ(asked.size(), land.points.size());
      EXPECT_TRUE(strategy->ask(1).empty());
    }
  }
}

TEST(GuidedStrategyTest, NeverAsksTwiceNorOutsideTheListWhateverIsTold) {
  const Landscape land;
  std::mt19937_64 random(11);
  for (int trial = 0; trial < 50; ++trial) {
    const std::size_t budget = random() % 150;
    const auto strategy = make_guided(land.points, land.prior_us, budget, random());
    std::set<std::size_t> seen;
    while (true) {
      const std::size_t count = 1 + random() % 5;
      const Points some = strategy->ask(count);
      if (some.empty()) break;
      EXPECT_LE(some.size(), count);
      for (const std::size_t point : some) {
        ASSERT_LT(point, land.points.size());
        ASSERT_TRUE(seen.insert(point).second) << point << " asked twice";
        if (random() % 3 != 0) strategy->tell(point, land.time_us[point]);  // some are never told
      }
    }
    EXPECT_EQ(seen.size(), land.points.size());
  }
}

TEST(GuidedStrategyTest, SameSeedAndTellsGiveTheSameAsks) {
  const Landscape land;
  const std::vector<double> flat(land.points.size(), 1.0);
  const auto once = make_guided(land.points, flat, 40, 5);
  const auto again = make_guided(land.points, flat, 40, 5);
  const auto other = make_guided(land.points, flat, 40, 6);
  const Points asked = land.run(*once, 40, 2);
  EXPECT_EQ(land.run(*again, 40, 2), asked);
  EXPECT_NE(land.run(*other, 40, 2), asked);
}

TEST(GuidedStrategyTest, FindsTheOptimumOfARoughPriorWithinAThirdOfTheSpace) {
  const Landscape land;
  double best = kInfinity;
  for (const auto& time : land.time_us) best = std::min(best, time.value_or(kInfinity));
  const auto strategy = make_guided(land.points, land.prior_us, land.points.size() / 3, 1);
  double found = kInfinity;
  for (const std::size_t point : land.run(*strategy, land.points.size() / 3, 1)) {
    found = std::min(found, land.time_us[point].value_or(kInfinity));
  }
  EXPECT_EQ(found, best);
}

TEST(GuidedStrategyTest, GoesOnWhenEverythingFails) {
  const Landscape land;
  const auto strategy = make_guided(land.points, land.prior_us, 10, 1);
  std::size_t asked = 0;
  for (Points some = strategy->ask(7); !some.empty(); some = strategy->ask(7)) {
    for (const std::size_t point : some) strategy->tell(point, std::nullopt);
    asked += some.size();
  }
  EXPECT_EQ(asked, land.points.size());
}

TEST(GuidedStrategyTest, PointsWithoutHopeComeLast) {
  const KernelFamily family = line_family({1, 2, 3, 4});
  const auto points = points_of(family, {{1}, {2}, {3}, {4}});
  const auto strategy =
      make_guided(points, {kInfinity, 5, std::numeric_limits<double>::quiet_NaN(), 1}, 2, 1);
  EXPECT_EQ(strategy->ask(1), (Points{3}));
  strategy->tell(3, 1.0);
  EXPECT_EQ(strategy->ask(1), (Points{1}));
  EXPECT_EQ(strategy->ask(9).size(), 2u);
}

TEST(GuidedStrategyTest, PointsToldBeforeAreNotAsked) {
  const KernelFamily family = line_family({1, 2, 3, 4});
  const auto points = points_of(family, {{1}, {2}, {3}, {4}});
  const auto strategy = make_guided(points, {1, 2, 3, 4}, 4, 1);
  strategy->tell(0, 3.0);
  strategy->tell(1, std::nullopt);
  EXPECT_EQ(strategy->ask(9), (Points{2, 3}));
}

TEST(GuidedStrategyTest, EmptySpaceIsExhaustedAtOnce) {
  EXPECT_TRUE(make_guided({}, {}, 10, 1)->ask(5).empty());
}

TEST(GuidedStrategyTest, RefusesMismatchedScoresAndForeignPoints) {
  const KernelFamily family = line_family({1, 2});
  const auto points = points_of(family, {{1}, {2}});
  EXPECT_THROW(make_guided(points, {1.0}, 2, 1), std::invalid_argument);
  EXPECT_THROW(make_guided(points, {1.0, 2.0}, 2, 1)->tell(2, 1.0), std::out_of_range);
}

TEST(ExhaustiveStrategyTest, AsksAllPointsInOrderOnce) {
  const auto strategy = make_exhaustive(5);
  EXPECT_EQ(strategy->ask(2), (Points{0, 1}));
  strategy->tell(0, 1.0);
  strategy->tell(3, 1.0);  // known from elsewhere
  EXPECT_EQ(strategy->ask(9), (Points{2, 4}));
  EXPECT_TRUE(strategy->ask(1).empty());
}

}  // namespace
}  // namespace gemm_tune
