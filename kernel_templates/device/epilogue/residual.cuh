// SPDX-License-Identifier: Apache-2.0
// Adds an element of a matrix that lies as D does.
#pragma once

#include "kernel_templates/device/call/epilogue_operands.cuh"

namespace gemm_tune {

struct Residual {
  static constexpr int kOperand = kMatrixD;

  template <class T>
  static __device__ T apply(T value, T residual) {
    return value + residual;
  }
};

}  // namespace gemm_tune
