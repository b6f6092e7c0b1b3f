// SPDX-License-Identifier: Apache-2.0
// When another try is no longer worth its cost: pure rules over numbers, tested with literal ones.
//
// The cost of a try is counted in tries, not in seconds: the same results end a search on a loaded
// machine as on an idle one. docs/search.md explains the rule, docs/notes/search/stop_rule.md has
// its regret on recorded sweeps. Pure; any thread.
#pragma once

#include <cstddef>

namespace gemm_tune {

// Of so many further tries together the gain is expected.
inline constexpr std::size_t kNextTries = 16;

// What a search knows of the worth of another try.
struct Outlook {
  std::size_t timed = 0;       // results with a time
  std::size_t since_best = 0;  // results since the best, failures among them
  // By how much log(measured / expected at the start) lies below its median, as a deviation.
  double prior_error = 0;
  // The expected fall of the best log time by the next kNextTries: the greatest of what the latest
  // few asks expected, times the share of such promises that was kept so far.
  double next_gain = 0;
  // Results since the best fell by StopRule::worth: by several small steps together as well.
  std::size_t since_gain = 0;
  // Configs that differ from the best in one parameter and are expected to be about as fast, that
  // were not asked for.
  std::size_t unasked_variants = 0;
};

// Both must say so. The surrogate alone is sure of itself where its prior is wrong; results without
// an improvement say the more the better the prior was: their number grows with its variance.
//
// Near a known size the configs that won there have been tried first, so that results without a
// gain end the search, however much the prior errs and the surrogate promises.
//
// Neither rule ends a search before the likely variants of the best were asked for: the surrogate
// takes times to be smooth in each parameter, and so seldom asks for them.
struct StopRule {
  std::size_t least_timed = 8;
  double worth = 0.01;  // the least gain for which kNextTries are made
  // The least gain for which a search that is over waits for what is under way: half of its cost is
  // paid.
  double worth_waiting = 0.005;
  double patience = 4;  // results without an improvement, of a prior without errors
  double patience_by_variance = 4000;
  std::size_t patience_near_known = 28;  // results without a gain of `worth`

  bool is_over(const Outlook& outlook, bool is_near_known = false) const {
    if (outlook.timed < least_timed) return false;
    if (outlook.unasked_variants > 0) return false;
    if (is_near_known) return outlook.since_gain >= patience_near_known;
    return outlook.next_gain < worth && has_settled(outlook);
  }

  // Whether the best is likely to stay the best, whatever more tries promise.
  bool has_settled(const Outlook& outlook) const {
    const double enough =
        patience + patience_by_variance * outlook.prior_error * outlook.prior_error;
    return static_cast<double>(outlook.since_best) >= enough;
  }
};

}  // namespace gemm_tune
