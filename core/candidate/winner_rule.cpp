// SPDX-License-Identifier: Apache-2.0
#include "core/candidate/winner_rule.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <tuple>
#include <utility>

namespace gemm_tune {
namespace {

const Timing& timing_of(const Finalist& finalist) { return *finalist.outcome->timing; }

// Sorts by key(finalist), then by the config's text, and calls set(ranking, rank) for each.
template <class Key, class Set>
void rank_by_key(std::vector<Finalist> finalists, const Key& key, const Set& set) {
  std::sort(finalists.begin(), finalists.end(), [&](const Finalist& a, const Finalist& b) {
    return std::make_pair(key(a), a.config) < std::make_pair(key(b), b.config);
  });
  int rank = 0;
  for (const Finalist& finalist : finalists) set(*finalist.outcome->ranking, ++rank);
}

}  // namespace

void rank_finalists(const std::vector<Finalist>& finalists) {
  if (finalists.empty()) return;
  const auto fastest = std::min_element(finalists.begin(), finalists.end(),
                                        [](const Finalist& a, const Finalist& b) {
                                          return timing_of(a).median_us < timing_of(b).median_us;
                                        });
  const double most_us = kReach * timing_of(*fastest).median_us;
  const auto is_within_reach = [&](const Finalist& one) {
    return one.in_last_round && timing_of(one).median_us <= most_us && timing_of(one).cold_us &&
           one.outcome->error;
  };
  const bool judges_cold = is_within_reach(*fastest);
  rank_by_key(
      finalists,
      [&](const Finalist& one) {
        const double us = timing_of(one).median_us;
        return judges_cold && is_within_reach(one)
                   ? std::make_tuple(
                         0, kHotWeight * std::log(us) + std::log(*timing_of(one).cold_us), us)
                   : std::make_tuple(1, us, us);
      },
      [](Ranking& ranking, int rank) {
        ranking.rank = rank;
        ranking.tied = ranking.tied || rank == 1;
      });
  std::vector<Finalist> with_cold_time;
  std::copy_if(finalists.begin(), finalists.end(), std::back_inserter(with_cold_time),
               [](const Finalist& one) { return timing_of(one).cold_us.has_value(); });
  rank_by_key(
      with_cold_time, [](const Finalist& one) { return *timing_of(one).cold_us; },
      [](Ranking& ranking, int rank) { ranking.cold_rank = rank; });
}

bool is_tied_with(const Outcome& winner, const Outcome& candidate, Objective objective) {
  if (!candidate.ranking) return false;
  if (objective == Objective::hot) return candidate.ranking->tied;
  return candidate.timing->cold_us &&
         *candidate.timing->cold_us <= (1 + kTieMargin) * winner.deciding_us(objective).value();
}

std::optional<int> rank_by(Objective objective, const Outcome& outcome) {
  if (!outcome.ranking) return std::nullopt;
  return objective == Objective::cold ? outcome.ranking->cold_rank : outcome.ranking->rank;
}

}  // namespace gemm_tune
