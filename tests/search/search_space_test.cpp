// SPDX-License-Identifier: Apache-2.0
#include "search/space/search_space.h"

#include <gtest/gtest.h>

#include <stdexcept>
#include <vector>

namespace gemm_tune {
namespace {

using Points = std::vector<std::size_t>;
using Places = std::vector<SearchSpace::ValueIndex>;

// A is 0 to 4, B is 0 or 1; not all of the ten are valid.
SearchSpace small_space() {
  return SearchSpace({{"A", {"1", "2", "4", "8", "16"}}, {"B", {"no", "yes"}}}, {0, 0,    // 0
                                                                                 1, 0,    // 1
                                                                                 3, 0,    // 2
                                                                                 4, 0,    // 3
                                                                                 3, 1,    // 4
                                                                                 0, 1});  // 5
}

TEST(SearchSpaceTest, KnowsItsPointsByTheirPlaces) {
  const SearchSpace space = small_space();
  ASSERT_EQ(space.size(), 6u);
  EXPECT_EQ(space.at(4)[0], 3);
  EXPECT_EQ(space.at(4)[1], 1);
  EXPECT_EQ(space.find(Places{3, 1}), 4u);
  EXPECT_EQ(space.find(Places{2, 0}), std::nullopt);
}

TEST(SearchSpaceTest, NeighboursAreTheNearestValidOnesEitherWay) {
  const SearchSpace space = small_space();
  EXPECT_EQ(space.neighbours(1), (Points{2, 0}));     // A=4 is not valid, A=8 is
  EXPECT_EQ(space.neighbours(2), (Points{3, 1, 4}));  // A up, A down, B up
  EXPECT_EQ(space.neighbours(4), (Points{5, 2}));
}

TEST(SearchSpaceTest, VariantsHaveAnyOtherValueOfOneParameter) {
  const SearchSpace space = small_space();
  EXPECT_EQ(space.variants(1), (Points{0, 2, 3}));
  EXPECT_EQ(space.variants(4), (Points{5, 2}));
}

TEST(SearchSpaceTest, RefusesPointsThatAreNoPoints) {
  EXPECT_THROW(SearchSpace({{"A", {"1"}}, {"B", {"1"}}}, {0, 0, 0}), std::invalid_argument);
  EXPECT_THROW(SearchSpace({{"A", {"1", "2"}}}, {0, 2}), std::invalid_argument);
  EXPECT_EQ(SearchSpace({}, {}).size(), 0u);
}

TEST(SearchSpaceTest, HoldsConfigsOfSeveralFamiliesByParameterNames) {
  KernelFamily plain, tiled;
  plain.name = "plain";
  plain.params = {{"BM", {8, 16}, ""}};
  tiled.name = "tiled";
  tiled.params = {{"BK", {4}, ""}, {"BM", {16, 128}, ""}};
  std::vector<KnownConfig> configs(3);
  configs[0].family = &plain;
  configs[0].values = {16};
  configs[1].family = &tiled;
  configs[1].values = {4, 128};
  configs[2].family = &tiled;
  configs[2].values = {4, 16};
  const SearchSpace space = search_space(ConfigList(configs));
  ASSERT_EQ(space.params().size(), 3u);
  EXPECT_EQ(space.params()[0].values, (std::vector<std::string>{"plain", "tiled"}));
  EXPECT_EQ(space.params()[1].name, "BM");
  EXPECT_EQ(space.params()[1].values, (std::vector<std::string>{"-", "16", "128"}));
  EXPECT_EQ(space.params()[2].values, (std::vector<std::string>{"-", "4"}));
  EXPECT_EQ(space.find(Places{0, 1, 0}), 0u);
  EXPECT_EQ(space.find(Places{1, 2, 1}), 1u);
  EXPECT_EQ(space.find(Places{1, 1, 1}), 2u);
}

}  // namespace
}  // namespace gemm_tune
