// SPDX-License-Identifier: Apache-2.0
// Times of several ways to do one thing, taken in turn in rounds, so that a drift of clocks falls
// on all alike. Pure; one thread.
#pragma once

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

namespace gemm_tune {

class Rounds {
 public:
  explicit Rounds(std::size_t ways) : times_(ways) {}

  // Whose turn is the i-th of a round: every other round runs backwards, so that the same way does
  // not always follow the same other.
  static std::size_t turn(std::size_t i, std::size_t round, std::size_t ways) {
    return round % 2 == 0 ? i : ways - 1 - i;
  }

  // One round's times, one of each way.
  void add(const std::vector<double>& round) {
    for (std::size_t way = 0; way < times_.size(); ++way) times_[way].push_back(round.at(way));
  }

  std::size_t count() const { return times_.front().size(); }

  // 0.5 for the median. Precondition: there are rounds.
  double quantile(std::size_t way, double share) const { return quantile(times_[way], share); }

  // The median, over the rounds, of one way's time divided by another's in the same round.
  double ratio(std::size_t way, std::size_t other) const {
    std::vector<double> ratios;
    for (std::size_t i = 0; i < count(); ++i) ratios.push_back(times_[way][i] / times_[other][i]);
    return quantile(std::move(ratios), 0.5);
  }

 private:
  // Between two values linearly.
  static double quantile(std::vector<double> values, double share) {
    std::sort(values.begin(), values.end());
    const double place = share * static_cast<double>(values.size() - 1);
    const auto below = static_cast<std::size_t>(place);
    const std::size_t above = std::min(below + 1, values.size() - 1);
    return values[below] + (place - static_cast<double>(below)) * (values[above] - values[below]);
  }

  std::vector<std::vector<double>> times_;  // of each way, by round
};

}  // namespace gemm_tune
