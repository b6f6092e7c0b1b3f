// SPDX-License-Identifier: Apache-2.0
// Adds an element of the bias for each row of D.
#pragma once

#include "kernel_templates/device/call/functor.cuh"

namespace gemm_tune {

struct BiasRow : Plus<kRowD> {};

}  // namespace gemm_tune
