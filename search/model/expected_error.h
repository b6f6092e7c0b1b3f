// SPDX-License-Identifier: Apache-2.0
// The error of a config's sums in fp32, expected from the lengths of its chains of additions.
#pragma once

#include "core/device/device_spec.h"
#include "core/problem/problem.h"
#include "kernel_templates/traits.h"

namespace gemm_tune {

// The Frobenius norm of D's difference from the exact product, over that of the product, for
// independent operands of mean 0 and sums in fp32. Rounding errors count as independent random
// variables (Higham, Accuracy and Stability of Numerical Algorithms, 2nd ed., 2002, section 4.2):
// after k of L products a partial sum's variance is k, so L of them leave L (L + 1) / 2 times the
// variance of one rounding, beside a sum whose variance is L. An upper bound where a thread has
// several sums of one element, or lanes add theirs up as a tree.
double expected_error(const Traits& traits, const Problem& problem, const DeviceSpec& device);

}  // namespace gemm_tune
