// SPDX-License-Identifier: Apache-2.0
// What functors of an epilogue derive from (device/call/epilogue_chain.cuh).
#pragma once

#include "kernel_templates/device/call/epilogue_operands.cuh"

namespace gemm_tune {

template <int OPERAND>
struct Plus {
  static constexpr int kOperand = OPERAND;

  template <class T>
  static __device__ T apply(T value, T operand) {
    return value + operand;
  }
};

template <int OPERAND>
struct Times {
  static constexpr int kOperand = OPERAND;

  template <class T>
  static __device__ T apply(T value, T operand) {
    return value * operand;
  }
};

struct Activation {
  static constexpr int kOperand = kNoOperand;
};

}  // namespace gemm_tune
