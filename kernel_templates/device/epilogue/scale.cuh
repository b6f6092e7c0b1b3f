// SPDX-License-Identifier: Apache-2.0
// Multiplies by one factor.
#pragma once

#include "kernel_templates/device/call/functor.cuh"

namespace gemm_tune {

struct Scale : Times<kScalarF32> {};

}  // namespace gemm_tune
