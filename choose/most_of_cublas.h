// SPDX-License-Identifier: Apache-2.0
// How much faster than cuBLAS a kernel must be expected to be.
//
// Pure; any thread. The header stands alone, for the drop-in links no more of choose/.
#pragma once

#include <algorithm>
#include <cmath>

namespace gemm_tune {

// What share of cuBLAS's expected time a kernel may be expected to take to serve an untuned
// problem, at this distance from the nearest tuned one: less where less is known. Beside 678
// tuned problems on an H100, cuBLAS's expectation was off by 8 % in the median at 57 random ones,
// a kernel's by 4 %; with this share a kernel served at 34 of 45, slower than cuBLAS at three
// (docs/notes/running/untuned_problems.md).
inline double most_of_cublas(double distance) {
  return 1 - 0.05 * std::min(std::log2(distance), 1.0);
}

}  // namespace gemm_tune
