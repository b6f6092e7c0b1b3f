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
// doubling. Chosen on 99 random problems on an H200, where kernels that were tuned far away took up
// to 2.3 times their expected time (docs/notes/running/untuned_problems.md).
inline double most_of_cublas(double distance) {
  return 1 - 0.035 * std::min(std::log2(distance), 6.0);
}

}  // namespace gemm_tune
