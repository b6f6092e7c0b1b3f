// SPDX-License-Identifier: Apache-2.0
#include "search/space/cover.h"

#include <set>
#include <tuple>
#include <vector>

#include "search/space/space.h"
#include "tests/matchers.h"

namespace gemm_tune {
namespace {

using testing::Ge;
using testing::Le;

TEST(DrawEvenly, TakesOnePointFromEachStretch) {
  const std::vector<std::size_t> drawn = draw_evenly(1000, 4, 7);
  ASSERT_THAT(drawn, SizeIs(4));
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_THAT(drawn[i], Ge(250 * i));
    EXPECT_THAT(drawn[i], Le(250 * i + 249));
  }
}

TEST(DrawEvenly, TakesEveryPointOfASmallSpace) {
  EXPECT_THAT(draw_evenly(3, 10, 1), ElementsAre(0, 1, 2));
  EXPECT_THAT(draw_evenly(0, 10, 1), ElementsAre());
}

TEST(DrawEvenly, DependsOnTheSeedAlone) {
  EXPECT_EQ(draw_evenly(100000, 50, 3), draw_evenly(100000, 50, 3));
  EXPECT_NE(draw_evenly(100000, 50, 3), draw_evenly(100000, 50, 4));
}

using Pair = std::tuple<std::string, std::size_t, int, std::size_t, int>;

std::set<Pair> pairs_of(const ConfigList& points, const std::vector<std::size_t>& chosen) {
  std::set<Pair> pairs;
  for (const std::size_t i : chosen) {
    const std::span<const ConfigList::Value> values = points.values(i);
    for (std::size_t a = 0; a < values.size(); ++a) {
      for (std::size_t b = a + 1; b < values.size(); ++b) {
        pairs.emplace(points.family(i).name, a, values[a], b, values[b]);
      }
    }
  }
  return pairs;
}

TEST(CoverPairs, HasEveryPairOfValuesThatTheSpaceHasInFewPoints) {
  ConfigList points;
  for (const char* name : {"naive", "vectorized_2d"}) {
    const Space space = enumerate({find_family(name)});
    for (const KnownConfig& point : space.points) points.add(*point.family, point.values);
  }
  const std::vector<std::size_t> all = draw_evenly(points.size(), points.size(), 1);
  const std::vector<std::size_t> chosen = cover_pairs(points, 1);
  EXPECT_EQ(pairs_of(points, chosen), pairs_of(points, all));
  EXPECT_THAT(chosen.size(), Le(60u));  // vectorized_2d alone has thousands
  EXPECT_THAT(all.size(), Ge(5000u));
}

}  // namespace
}  // namespace gemm_tune
