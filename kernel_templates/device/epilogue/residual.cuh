// SPDX-License-Identifier: Apache-2.0
// Adds an element of a matrix that lies as D does.
#pragma once

#include "kernel_templates/device/call/functor.cuh"

namespace gemm_tune {

struct Residual : Plus<kMatrixD> {};

}  // namespace gemm_tune
