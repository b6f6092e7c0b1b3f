// SPDX-License-Identifier: Apache-2.0
#include "search/space/point_index.h"

#include <gtest/gtest.h>

#include <vector>

namespace gemm_tune {
namespace {

KernelFamily two_params(const char* name) {
  KernelFamily family;
  family.name = name;
  family.params = {{"A", {1, 2}, ""}, {"B", {0, 1}, ""}};
  return family;
}

KnownConfig point(const KernelFamily& family, int a, int b) {
  KnownConfig config;
  config.family = &family;
  config.values = {a, b};
  return config;
}

TEST(PointIndexTest, FindsAPointByFamilyAndValues) {
  const KernelFamily plain = two_params("plain"), fancy = two_params("fancy");
  const ConfigList points = std::vector{point(plain, 1, 0), point(plain, 2, 1), point(fancy, 2, 1)};
  const PointIndex index(points);
  EXPECT_EQ(index.find(plain, std::vector{1, 0}), 0u);
  EXPECT_EQ(index.find(plain, std::vector{2, 1}), 1u);
  EXPECT_EQ(index.find(fancy, std::vector{2, 1}), 2u);
  EXPECT_EQ(index.find(fancy, std::vector{1, 0}), std::nullopt);
  EXPECT_EQ(index.find(plain, std::vector{1, 1}), std::nullopt);
}

TEST(PointIndexTest, OfEqualPointsItIsTheFirst) {
  const KernelFamily plain = two_params("plain");
  const ConfigList points = std::vector{point(plain, 1, 0), point(plain, 1, 1), point(plain, 1, 1)};
  EXPECT_EQ(PointIndex(points).find(plain, std::vector{1, 1}), 1u);
}

TEST(PointIndexTest, AnEmptyListHoldsNothing) {
  const KernelFamily plain = two_params("plain");
  const ConfigList nothing;
  EXPECT_EQ(PointIndex(nothing).find(plain, std::vector{1, 0}), std::nullopt);
}

TEST(PointIndexTest, EveryPointOfALargeListIsFound) {
  const KernelFamily plain = two_params("plain");
  std::vector<KnownConfig> points;
  for (int a = 0; a < 100; ++a) {
    for (int b = 0; b < 100; ++b) points.push_back(point(plain, a, 100 * b));
  }
  const ConfigList list = points;
  const PointIndex index(list);
  for (std::size_t i = 0; i < points.size(); ++i) {
    ASSERT_EQ(index.find(plain, points[i].values), i);
  }
  EXPECT_EQ(index.find(plain, std::vector{100, 0}), std::nullopt);
}

}  // namespace
}  // namespace gemm_tune
