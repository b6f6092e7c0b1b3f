// SPDX-License-Identifier: Apache-2.0
// The order of finalists, from literal times.
#include "core/candidate/winner_rule.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace gemm_tune {
namespace {

struct Timed {
  double us;
  std::optional<double> cold_us;
  bool in_last_round = true;
  std::optional<double> error = 1e-7;
};

// The outcomes of finalists with these times, the fastest tied, with their ranks.
std::vector<Outcome> ranked(const std::vector<Timed>& times) {
  std::vector<Outcome> outcomes(times.size());
  std::vector<Finalist> finalists;
  for (std::size_t i = 0; i < times.size(); ++i) {
    outcomes[i].timing = Timing{times[i].us, {times[i].us}, 1, times[i].cold_us};
    outcomes[i].error = times[i].error;
    outcomes[i].ranking.emplace();
    finalists.push_back(
        {std::string(1, static_cast<char>('a' + i)), &outcomes[i], times[i].in_last_round});
  }
  rank_finalists(finalists);
  return outcomes;
}

std::vector<int> ranks(const std::vector<Timed>& times) {
  std::vector<int> found;
  for (const Outcome& one : ranked(times)) found.push_back(one.ranking->rank);
  return found;
}

TEST(WinnerRuleTest, APercentOfHotTimeBuysSixOfColdTimeAmongFinalistsWithinThreePercent) {
  // As of a small batch on an H100: the fastest hot is the slowest cold.
  EXPECT_EQ(ranks({{10, 13.5}, {10.2, 9.3}, {10.25, 9.3}, {10.4, 5}}),
            (std::vector<int>{3, 1, 2, 4}));
  EXPECT_EQ(ranks({{10, 10}, {10.2, 9.9}}), (std::vector<int>{1, 2}));
  EXPECT_EQ(ranks({{10, 10}, {10.1, 9.45}}), (std::vector<int>{1, 2}));
  EXPECT_EQ(ranks({{10, 10}, {10.1, 9.35}}), (std::vector<int>{2, 1}));
  EXPECT_EQ(ranks({{10, 10.3}, {10, 10.2}}), (std::vector<int>{2, 1}));
}

TEST(WinnerRuleTest, ACandidateOfAnEarlierRoundIsRankedByItsTime) {
  EXPECT_EQ(ranks({{10, 13.5}, {10.1, 5, false}, {10.2, 9.3}}), (std::vector<int>{2, 3, 1}));
}

TEST(WinnerRuleTest, TheHotTimeDecidesWhereTheFastestHasNoColdTimeOrNoError) {
  EXPECT_EQ(ranks({{100.2, 140}, {100, std::nullopt}}), (std::vector<int>{2, 1}));
  EXPECT_EQ(ranks({{100.2, 140}, {100, 150, true, std::nullopt}}), (std::vector<int>{2, 1}));
  EXPECT_EQ(ranks({{100.2, 140, true, std::nullopt}, {100, 150}}), (std::vector<int>{2, 1}));
}

TEST(WinnerRuleTest, TheColdRankIsThatOfColdTimesAlone) {
  const std::vector<Outcome> outcomes = ranked({{10, 30}, {50, 20}, {20, std::nullopt}});
  EXPECT_EQ(outcomes[0].ranking->cold_rank, 2);
  EXPECT_EQ(outcomes[1].ranking->cold_rank, 1);
  EXPECT_EQ(outcomes[2].ranking->cold_rank, std::nullopt);
  EXPECT_EQ(rank_by(Objective::cold, outcomes[1]), 1);
  EXPECT_EQ(rank_by(Objective::hot, outcomes[1]), 3);
}

TEST(WinnerRuleTest, EqualTimesAreInTheOrderOfTheConfigs) {
  EXPECT_EQ(ranks({{10, 10}, {10, 10}, {10, 10}}), (std::vector<int>{1, 2, 3}));
}

TEST(WinnerRuleTest, TheWinnerCountsAsTied) {
  const std::vector<Outcome> outcomes = ranked({{10, 13.5}, {10.2, 9.3}, {10.29, 20}});
  EXPECT_FALSE(outcomes[0].ranking->tied);
  EXPECT_TRUE(outcomes[1].ranking->tied);
  EXPECT_TRUE(is_tied_with(outcomes[0], outcomes[1], Objective::hot));
  EXPECT_FALSE(is_tied_with(outcomes[1], outcomes[2], Objective::hot));
}

TEST(WinnerRuleTest, ColdTimesWithinOnePercentAreTied) {
  const std::vector<Outcome> outcomes = ranked({{10, 100}, {20, 100.9}, {30, 101.1}});
  EXPECT_TRUE(is_tied_with(outcomes[0], outcomes[1], Objective::cold));
  EXPECT_FALSE(is_tied_with(outcomes[0], outcomes[2], Objective::cold));
  EXPECT_FALSE(is_tied_with(outcomes[0], Outcome{}, Objective::cold));
}

}  // namespace
}  // namespace gemm_tune
