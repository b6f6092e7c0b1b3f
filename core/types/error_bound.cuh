// SPDX-License-Identifier: Apache-2.0
// How far a right result may lie from the true one: for the host and for the kernel that checks.
//
// Where the numbers come from: core/types/error_bound.h. Plain C++ without any header. Values; any
// thread.
#pragma once

namespace gemm_tune {

struct ErrorBound {
  double sums = 0;    // rounding of sums, alpha and beta, relative to |alpha| |A| |B| + |beta C|
  double stored = 0;  // rounding to D's type, relative to the number that is rounded
  double least = 0;   // the same where that is a subnormal number: half of the least one

  // size: |alpha A B + beta C|. magnitude: |alpha| |A| |B| + |beta C|. Both of one element.
  constexpr double at(double size, double magnitude) const {
    const double before = sums * magnitude;
    return before + stored * (size + before) + least;
  }
};

}  // namespace gemm_tune
