// SPDX-License-Identifier: Apache-2.0
// The error bounds of the accuracy classes, and whole numbers that no kernel rounds.
//
// docs/verification.md derives both. The verifier and the emulator judge by them. A bound holds for
// every kernel of a class, in whatever order it adds. Pure; any thread.
#pragma once

#include <cstdint>

#include "core/types/error_bound.cuh"
#include "core/types/signature.h"

namespace gemm_tune {

// Of sums over K products. sm: whose tensor cores round, 75 for sm_75; of fp32 it is not read.
// Throws DeviceError where the class needs tensor cores and sm has none.
ErrorBound error_bound(const Signature& signature, std::int64_t K, int sm);

// The largest magnitude, from 1 to 4, of the whole numbers that make up operands of this K. No
// partial sum may leave fp32's exact range, of 2^24: beyond K = 2^24 ones could, but random signs
// see to it that they never do. And a typical sum must be exact in D's type, so that a single
// product more or less shows there: four standard deviations, as far as ones allow it.
int exact_range(std::int64_t K, ElementType d);

}  // namespace gemm_tune
