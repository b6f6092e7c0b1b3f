// SPDX-License-Identifier: Apache-2.0
// Stores the value, rounded to D's type, in a second matrix that lies as D does.
#pragma once

#include "kernel_templates/device/call/epilogue_operands.cuh"

namespace gemm_tune {

struct Aux {
  static constexpr int kOperand = kOutputD;
};

}  // namespace gemm_tune
