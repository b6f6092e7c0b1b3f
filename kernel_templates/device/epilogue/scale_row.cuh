// SPDX-License-Identifier: Apache-2.0
// Multiplies by a factor for each row of D.
#pragma once

#include "kernel_templates/device/call/epilogue_operands.cuh"

namespace gemm_tune {

struct ScaleRow {
  static constexpr int kOperand = kRowF32;

  template <class T>
  static __device__ T apply(T value, T factor) {
    return value * factor;
  }
};

}  // namespace gemm_tune
