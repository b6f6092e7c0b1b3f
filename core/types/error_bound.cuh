// SPDX-License-Identifier: Apache-2.0
// How far a right result may lie from the true one: for the host and for the kernel that checks.
//
// Where the numbers come from: core/types/error_bound.h. Plain C++ without any header. Values; any
// thread.
#pragma once

namespace gemm_tune {

struct ErrorBound {
  double sums = 0;    // rounding of sums, alpha and beta, relative to |alpha| |A| |B| + |beta C|
  double each = 0;    // rounding of sums that are subnormal numbers of a type with few exponents;
                      // times |alpha|
  double stored = 0;  // rounding to D's type, relative to the number that is rounded
  double least = 0;   // the same where that is a subnormal number: half of the least one

  // magnitude: |alpha| |A| |B| + |beta C|, of one element. Before it is stored.
  constexpr double of_sums(double magnitude, double absolute_alpha) const {
    return sums * magnitude + each * absolute_alpha;
  }
  // size: |alpha A B + beta C|, of the same element.
  constexpr double at(double size, double magnitude, double absolute_alpha = 1) const {
    const double before = of_sums(magnitude, absolute_alpha);
    return before + stored * (size + before) + least;
  }
};

}  // namespace gemm_tune
