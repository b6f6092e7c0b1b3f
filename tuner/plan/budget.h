// SPDX-License-Identifier: Apache-2.0
// The default number of candidates that a search tries. These numbers are kept here only.
//
// docs/search.md says how they were chosen. Pure; any thread.
#pragma once

#include <cstddef>

namespace gemm_tune {

// On a GPU: the most tries of a search that ends itself (search/strategy/stop_rule.h).
inline constexpr std::size_t kMeasuredBudget = 160;
// Without a GPU, for every space: the static model decides the order, and two cores compile this
// many candidates in two minutes.
inline constexpr std::size_t kPredictedBudget = 128;

constexpr std::size_t default_budget(bool measured) {
  return measured ? kMeasuredBudget : kPredictedBudget;
}

}  // namespace gemm_tune
