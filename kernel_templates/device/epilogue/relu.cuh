// SPDX-License-Identifier: Apache-2.0
// ReLU: makes negative values zero. A NaN stays a NaN.
#pragma once

#include "kernel_templates/device/call/epilogue_operands.cuh"

namespace gemm_tune {

struct Relu {
  static constexpr int kOperand = kNoOperand;

  template <class T>
  static __device__ T apply(T value) {
    return value < T(0) ? T(0) : value;
  }
};

}  // namespace gemm_tune
