// SPDX-License-Identifier: Apache-2.0
// ReLU: makes negative values zero. A NaN stays a NaN.
#pragma once

#include "kernel_templates/device/call/functor.cuh"

namespace gemm_tune {

struct Relu : Activation {
  template <class T>
  static __device__ T apply(T value) {
    return value < T(0) ? T(0) : value;
  }
};

}  // namespace gemm_tune
