// SPDX-License-Identifier: Apache-2.0
// Multiplies by a factor for each row of D.
#pragma once

#include "kernel_templates/device/call/functor.cuh"

namespace gemm_tune {

struct ScaleRow : Times<kRowF32> {};

}  // namespace gemm_tune
