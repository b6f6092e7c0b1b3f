// SPDX-License-Identifier: Apache-2.0
// GELU: x times the normal distribution's share below x.
#pragma once

#include "kernel_templates/device/call/functor.cuh"
#include "kernel_templates/device/element/real_functions.cuh"

namespace gemm_tune {

struct GeluErf : Activation {
  template <class T>
  static __device__ T apply(T x) {
    return T(0.5) * x * (T(1) + erf_of(x * T(0.7071067811865476)));  // sqrt(1 / 2)
  }
};

}  // namespace gemm_tune
