// SPDX-License-Identifier: Apache-2.0
// SiLU: x times its sigmoid.
#pragma once

#include "kernel_templates/device/call/functor.cuh"
#include "kernel_templates/device/element/real_functions.cuh"

namespace gemm_tune {

struct Silu : Activation {
  template <class T>
  static __device__ T apply(T x) {
    return x / (T(1) + exp_of(-x));
  }
};

}  // namespace gemm_tune
