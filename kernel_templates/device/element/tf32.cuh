// SPDX-License-Identifier: Apache-2.0
// Elements of f32 as tensor cores take them: of 11 significand bits.
//
// To nearest, ties away from zero; beyond the largest number of tf32 to infinity. NVRTC 13.0 makes
// three instructions of it. The emulator supplies the same function.
#pragma once

#include "kernel_templates/device/element/element_type.cuh"

#ifndef GT_EMULATOR
namespace gemm_tune {

__device__ inline Bits32 rounded_to_tf32(Bits32 x) {
  Bits32 rounded;
  asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(rounded) : "f"(__uint_as_float(x)));
  return rounded;
}

}  // namespace gemm_tune
#endif
