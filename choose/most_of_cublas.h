// SPDX-License-Identifier: Apache-2.0
// How much faster than cuBLAS a kernel must be expected to be.
//
// Pure; any thread. The header stands alone, for the drop-in links no more of choose/.
#pragma once

#include <algorithm>
#include <cmath>

namespace gemm_tune {

// What share of cuBLAS's expected time a kernel may be expected to take to serve an untuned
// problem, at this distance from the problem for which the kernel was tuned: 3.5 % less for each
// doubling, up to six, and for a specialisation that was not tuned 8 % less for the first one.
// Chosen on 156 random problems on H200s, where kernels that were tuned far away took up to 2.3
// times their expected time (docs/notes/running/untuned_problems.md).
inline double most_of_cublas(double distance, bool is_specialisation = false) {
  const double doublings = std::log2(distance);
  const double of_specialisation = is_specialisation ? 0.08 * std::min(doublings, 1.0) : 0;
  return 1 - 0.035 * std::min(doublings, 6.0) - of_specialisation;
}

}  // namespace gemm_tune
