// SPDX-License-Identifier: Apache-2.0
// A run's time among its problems: by what each is worth, as the GPU time that a program spends in
// it. Time that a problem leaves goes to those behind it.
//
// The limit is that of the whole run: what a problem takes beside its search (its plan, its finals,
// the publishing of its winner) is kept for each that is to come. Only the problem under way may
// end after the limit, by its finals. Values; no thread rule.
#pragma once

#include <cstddef>
#include <vector>

#include "tuner/process/running_clock.h"

namespace gemm_tune {

// When a problem's search ends: at `own` if it has a result by then, else with the first result,
// and at `last` in any case. So a problem of little worth may go without a try, one of much worth
// not. Where there is a result, libraries' algorithms are still tried behind it: some milliseconds.
struct TimeShare {
  RunningClock::time_point own, last;

  bool is_over(RunningClock::time_point now, bool has_result) const {
    return now >= last || (now >= own && has_result);
  }
};

// What problems have taken so far, on average.
struct ProblemCost {
  RunningClock::duration first_result{};      // from a search's begin to its first result
  RunningClock::duration between_searches{};  // from a search's end to the next one's begin
};

class TimeLimit {
 public:
  // weights: of the problems, in their order; each 0 or above. at_a_time: problems under way.
  TimeLimit(RunningClock::time_point end, std::vector<double> weights, std::size_t at_a_time);

  // Of the problem at this position, whose search begins now. cost: as much is kept for each
  // problem that is to come, and the time after its search for this one.
  TimeShare share(std::size_t problem, RunningClock::time_point now,
                  const ProblemCost& cost = {}) const;

  // Whether no further problem is to be begun.
  bool is_over(RunningClock::time_point now) const { return now >= end_; }

 private:
  RunningClock::time_point end_;
  std::vector<double> weights_;
  double at_a_time_;
};

}  // namespace gemm_tune
