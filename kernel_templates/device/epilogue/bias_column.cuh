// SPDX-License-Identifier: Apache-2.0
// Adds an element of the bias for each column of D.
#pragma once

#include "kernel_templates/device/call/functor.cuh"

namespace gemm_tune {

struct BiasColumn : Plus<kColumnD> {};

}  // namespace gemm_tune
