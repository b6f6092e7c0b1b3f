// SPDX-License-Identifier: Apache-2.0
#include "tuner/range/fewest_configs.h"

#include <gtest/gtest.h>

#include <optional>
#include <random>
#include <vector>

#include "core/error.h"
#include "tuner/range/m_range.h"

namespace gemm_tune {
namespace {

using Rows = std::vector<std::size_t>;
constexpr auto kNone = std::nullopt;

TEST(FewestConfigs, OneServesAllWhereItIsNearTheBestEverywhere) {
  EXPECT_EQ(fewest_configs({{1.0, 9.0}, {1.04, 2.08}, {9.0, 2.0}}, 0.05), Rows{1});
  EXPECT_EQ(fewest_configs({{1.0, 9.0}, {1.04, 2.08}, {9.0, 2.0}}, 0.03), (Rows{0, 2}));
  EXPECT_EQ(fewest_configs({{1.0, 9.0}, {1.0, 2.0}}, 0), Rows{1});
}

TEST(FewestConfigs, AreFewerThanAGreedyChoiceTakes) {
  // Row 0 serves the most, and two more would be needed beside it.
  const TimesOfConfigs times = {{9, 1, 1, 1, 1, 9}, {1, 1, 1, 9, 9, 9}, {9, 9, 9, 1, 1, 1}};
  EXPECT_EQ(fewest_configs(times, 0.05), (Rows{1, 2}));
}

TEST(FewestConfigs, OfListsOfOneLengthTheFastestIsTaken) {
  EXPECT_EQ(fewest_configs({{1.04, 1.0}, {1.0, 1.01}, {1.02, 1.02}}, 0.05), Rows{1});
}

TEST(FewestConfigs, FailuresServeNothingAndAProblemThatAllFailIsLeftOut) {
  EXPECT_EQ(fewest_configs({{kNone, 1.0, kNone}, {2.0, 1.5, kNone}}, 0.05), (Rows{0, 1}));
  EXPECT_EQ(fewest_configs({{kNone}, {kNone}}, 0.05), Rows{});
  EXPECT_EQ(fewest_configs({}, 0.05), Rows{});
}

TEST(FewestConfigs, OfAThousandConfigsServeEveryProblem) {
  std::mt19937 random(1);
  std::uniform_real_distribution<double> time(1, 2);
  TimesOfConfigs times(1000);
  for (auto& row : times) {
    for (int p = 0; p < 24; ++p) row.push_back(time(random));
  }
  const Rows chosen = fewest_configs(times, 0.02);
  const auto best = best_of_each(times);
  for (std::size_t p = 0; p < 24; ++p) {
    bool is_served = false;
    for (const std::size_t row : chosen) is_served |= *times[row][p] <= 1.02 * *best[p];
    EXPECT_TRUE(is_served) << p;
  }
  EXPECT_LT(chosen.size(), 24u);
}

TEST(SampledM, AreTheEndsPowersOfTwoAndThreeTimesThem) {
  using Sizes = std::vector<std::int64_t>;
  EXPECT_EQ(sampled_m({1, 16}), (Sizes{1, 2, 3, 4, 6, 8, 12, 16}));
  EXPECT_EQ(sampled_m({33, 100}), (Sizes{33, 48, 64, 96, 100}));
  EXPECT_EQ(sampled_m({7, 7}), Sizes{7});
  EXPECT_EQ(sampled_m({1, 2'000'000'000}).back(), 2'000'000'000);
}

TEST(SampledM, AreOddAsWellWhereTheyDecideHowRowsAreAligned) {
  using Sizes = std::vector<std::int64_t>;
  EXPECT_EQ(sampled_m_of_any_alignment({1, 16}), (Sizes{1, 2, 3, 4, 6, 8, 12, 15, 16}));
  EXPECT_EQ(sampled_m_of_any_alignment({64, 127}), (Sizes{64, 65, 96, 127}));
  EXPECT_EQ(sampled_m_of_any_alignment({64, 100}), (Sizes{64, 65, 96, 100}));
  EXPECT_EQ(sampled_m_of_any_alignment({64, 64}), Sizes{64});
}

TEST(RangeText, HasTheRangeInPlaceOfM) {
  EXPECT_EQ(range_text(parse_problem("1x4096x96:type=bf16:layout=nt"), 256),
            "1:256x4096x96:type=bf16:layout=nt");
}

}  // namespace
}  // namespace gemm_tune
