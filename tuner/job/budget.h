// SPDX-License-Identifier: Apache-2.0
// How many candidates a search tries where nobody said: the one place for these numbers.
//
// docs/search.md says how they were chosen. Pure; any thread.
#pragma once

#include <cstddef>

namespace gemm_tune {

// On a GPU the square root of the space, within these bounds; what each try costs is some tens of
// milliseconds. The least is enough where a search is guided by so many timings of problems and
// GPUs that are at least so much like its own (likeness() in search/transfer.h).
inline constexpr std::size_t kLeastBudget = 64;
inline constexpr std::size_t kGreatestBudget = 160;
inline constexpr std::size_t kEnoughTimings = 64;
inline constexpr double kLikeEnough = 0.5;
// Without a GPU, whatever the space: the order is the static model's, and two cores compile so many
// in two minutes.
inline constexpr std::size_t kPredictedBudget = 128;

std::size_t default_budget(std::size_t points, bool measured, bool guided = false);

}  // namespace gemm_tune
