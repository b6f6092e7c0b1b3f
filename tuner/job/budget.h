// SPDX-License-Identifier: Apache-2.0
// The default number of candidates that a search tries. These numbers are kept here only.
//
// docs/search.md says how they were chosen. Pure; any thread.
#pragma once

#include <cstddef>

namespace gemm_tune {

// On a GPU: the square root of the space, within these bounds; each try costs some tens of
// milliseconds. The lower bound suffices if the search is guided by at least this many timings, of
// problems and GPUs that resemble its own at least this much (likeness() in search/transfer.h).
inline constexpr std::size_t kLeastBudget = 64;
inline constexpr std::size_t kGreatestBudget = 160;
inline constexpr std::size_t kEnoughTimings = 64;
inline constexpr double kLikeEnough = 0.5;
// Without a GPU, for every space: the static model decides the order, and two cores compile this
// many candidates in two minutes.
inline constexpr std::size_t kPredictedBudget = 128;

std::size_t default_budget(std::size_t points, bool measured, bool guided = false);

}  // namespace gemm_tune
