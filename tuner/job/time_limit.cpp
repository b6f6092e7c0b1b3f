// SPDX-License-Identifier: Apache-2.0
#include "tuner/job/time_limit.h"

#include <algorithm>
#include <chrono>
#include <numeric>
#include <utility>

namespace gemm_tune {

TimeLimit::TimeLimit(RunningClock::time_point end, std::vector<double> weights,
                     std::size_t at_a_time)
    : end_(end), weights_(std::move(weights)), at_a_time_(static_cast<double>(at_a_time)) {}

TimeShare TimeLimit::share(std::size_t problem, RunningClock::time_point now,
                           const ProblemCost& cost) const {
  const auto begin = weights_.begin() + static_cast<std::ptrdiff_t>(problem);
  const double to_come = std::accumulate(begin, weights_.end(), 0.0);
  const double part = to_come > 0 ? std::min(1.0, at_a_time_ * *begin / to_come) : 1.0;
  const RunningClock::time_point last = end_ - cost.between_searches;
  const double left = std::max(0.0, static_cast<double>((end_ - now).count()));
  const double of_search = std::max(0.0, static_cast<double>((last - now).count()));
  const auto first = static_cast<double>(cost.first_result.count());
  const double kept = first + static_cast<double>(cost.between_searches.count());
  const double problems = static_cast<double>(weights_.size() - problem) / at_a_time_;
  const double spare = std::max(0.0, left - kept * problems);
  const std::chrono::duration<double, RunningClock::period> own(
      std::min(of_search, first + spare * part));
  return {now + std::chrono::duration_cast<RunningClock::duration>(own), last};
}

}  // namespace gemm_tune
