// SPDX-License-Identifier: Apache-2.0
#include "cli/speed_up/turns.h"

#include <algorithm>

namespace gemm_tune {

Turn Turns::next(const std::vector<WantedProblem>& wanted, std::chrono::seconds left) {
  constexpr std::size_t kAtOnce = 3;
  constexpr std::chrono::seconds kLeast{60};
  std::vector<WantedProblem> open;
  double open_cost = 0;
  for (const WantedProblem& one : wanted) {
    if (finished_.contains(one.text)) continue;
    open.push_back(one);
    open_cost += one.cost;
  }
  std::stable_sort(open.begin(), open.end(), [this](const auto& a, const auto& b) {
    const int turns_a = had_[a.text], turns_b = had_[b.text];
    return turns_a != turns_b ? turns_a < turns_b : a.cost > b.cost;
  });
  if (open.size() > kAtOnce) open.resize(kAtOnce);
  double cost = 0;
  for (const WantedProblem& one : open) {
    ++had_[one.text];
    cost += one.cost;
  }
  const double share = std::min(0.5, open_cost > 0 ? cost / open_cost : 0.5);
  const auto own = std::chrono::duration_cast<std::chrono::seconds>(left * share);
  return {std::move(open), std::max(own, std::min(left, kLeast))};
}

}  // namespace gemm_tune
