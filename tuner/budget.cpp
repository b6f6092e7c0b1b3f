#include "tuner/budget.h"

#include <algorithm>
#include <cmath>

namespace gemm_tune {

std::size_t default_budget(std::size_t points, bool measured, bool guided) {
  if (!measured) return kPredictedBudget;
  const auto root = static_cast<std::size_t>(std::lround(std::sqrt(static_cast<double>(points))));
  const std::size_t budget = std::clamp(root, kLeastBudget, kGreatestBudget);
  return guided ? budget / kGuidedShare : budget;
}

}  // namespace gemm_tune
