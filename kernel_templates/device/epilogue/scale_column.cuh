// SPDX-License-Identifier: Apache-2.0
// Multiplies by a factor for each column of D.
#pragma once

#include "kernel_templates/device/call/functor.cuh"

namespace gemm_tune {

struct ScaleColumn : Times<kColumnF32> {};

}  // namespace gemm_tune
