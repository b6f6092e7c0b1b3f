// SPDX-License-Identifier: Apache-2.0
// How much faster than cuBLAS a kernel must be expected to be.
//
// Pure; any thread. The header stands alone, for the drop-in links no more of choose/.
#pragma once

#include <algorithm>
#include <cmath>

namespace gemm_tune {

// What share of cuBLAS's expected time a kernel may be expected to take to serve an untuned
// problem, at this distance from the problem for which the kernel was tuned. A specialisation
// that was not tuned must take 8 % less than cuBLAS for the first doubling. A kernel whose times
// are not learned (search/model/learned_correction.h) must take 3.5 % less for each doubling
// besides, up to six. Chosen on 156 random problems on H200s, where kernels that were tuned far
// away took up to 2.3 times their expected time; learned times are off by 5 % in the mean at any
// distance (docs/notes/running/untuned_problems.md).
inline double most_of_cublas(double distance, bool is_specialisation = false,
                             bool is_learned = false) {
  const double doublings = std::log2(distance);
  const double of_distance = is_learned ? 0 : 0.035 * std::min(doublings, 6.0);
  const double of_specialisation = is_specialisation ? 0.08 * std::min(doublings, 1.0) : 0;
  return 1 - of_distance - of_specialisation;
}

}  // namespace gemm_tune
