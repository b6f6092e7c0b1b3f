// SPDX-License-Identifier: Apache-2.0
#include "tuner/plan/budget.h"

#include <algorithm>
#include <cmath>

namespace gemm_tune {

std::size_t default_budget(std::size_t points, bool measured) {
  if (!measured) return kPredictedBudget;
  const auto root = static_cast<std::size_t>(std::lround(std::sqrt(static_cast<double>(points))));
  return std::clamp(root, kLeastBudget, kGreatestBudget);
}

}  // namespace gemm_tune
