// SPDX-License-Identifier: Apache-2.0
// 16-bit elements to and from float, rounded to nearest, ties to even.
//
// A NaN becomes 0x7fff (PTX ISA 9.0, section "Data Movement and Conversion Instructions: cvt").
// Rounding to bf16 needs sm_80. The emulator supplies the same functions.
#pragma once

#include "kernel_templates/device/element/element_type.cuh"

#ifndef GT_EMULATOR
namespace gemm_tune {

template <int TYPE>
__device__ inline float element_to_float(Bits16 bits) {
  if constexpr (TYPE == kTypeBf16) return __uint_as_float(static_cast<unsigned>(bits) << 16);
  float value;
  asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(bits));
  return value;
}

template <int TYPE>
__device__ inline Bits16 element_from_float(float value) {
  Bits16 bits;
  if constexpr (TYPE == kTypeBf16) {
    asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(bits) : "f"(value));
  } else {
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(value));
  }
  return bits;
}

}  // namespace gemm_tune
#endif
