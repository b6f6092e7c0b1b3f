// SPDX-License-Identifier: Apache-2.0
// Adds an element of the bias for each row of D.
#pragma once

#include "kernel_templates/device/call/epilogue_operands.cuh"

namespace gemm_tune {

struct BiasRow {
  static constexpr int kOperand = kRowD;

  template <class T>
  static __device__ T apply(T value, T bias) {
    return value + bias;
  }
};

}  // namespace gemm_tune
