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

// Two elements in a word, the first one in its low half.
template <int TYPE>
__device__ inline unsigned pair_from_floats(float2 values) {
  unsigned pair;
  if constexpr (TYPE == kTypeBf16) {
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(values.y), "f"(values.x));
  } else {
#if __CUDA_ARCH__ >= 800
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(values.y), "f"(values.x));
#else
    pair = element_from_float<TYPE>(values.x) |
           static_cast<unsigned>(element_from_float<TYPE>(values.y)) << 16;
#endif
  }
  return pair;
}

template <int TYPE>
__device__ inline float2 pair_to_floats(unsigned pair) {
  if constexpr (TYPE == kTypeBf16) {
    return {__uint_as_float(pair << 16), __uint_as_float(pair & 0xffff0000u)};
  }
  float2 values;
  asm("{ .reg .b16 first, second; mov.b32 {first, second}, %2; cvt.f32.f16 %0, first;"
      " cvt.f32.f16 %1, second; }"
      : "=f"(values.x), "=f"(values.y)
      : "r"(pair));
  return values;
}

}  // namespace gemm_tune
#endif
