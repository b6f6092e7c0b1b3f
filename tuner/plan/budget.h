// SPDX-License-Identifier: Apache-2.0
// The default number of candidates that a search tries. These numbers are kept here only.
//
// docs/search.md says how they were chosen. Pure; any thread.
#pragma once

#include <cstddef>

namespace gemm_tune {

// On a GPU: the square root of the space, within these bounds; each try costs some tens of
// milliseconds.
inline constexpr std::size_t kLeastBudget = 64;
inline constexpr std::size_t kGreatestBudget = 160;
// Without a GPU, for every space: the static model decides the order, and two cores compile this
// many candidates in two minutes.
inline constexpr std::size_t kPredictedBudget = 128;

std::size_t default_budget(std::size_t points, bool measured);

}  // namespace gemm_tune
