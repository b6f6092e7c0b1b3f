// SPDX-License-Identifier: Apache-2.0
// Elements of a type that is known when a kernel runs: their bits in memory, and their values.
// For kernels that check results, not for those that are timed.
#pragma once

#include "kernel_templates/device/element/element_convert.cuh"

namespace gemm_tune {
namespace {

__device__ unsigned load_bits(const void* cells, long long i, int type) {
  if (type == kTypeF32) return static_cast<const unsigned*>(cells)[i];
  return static_cast<const Bits16*>(cells)[i];
}

__device__ void store_bits(void* cells, long long i, int type, unsigned bits) {
  if (type == kTypeF32) {
    static_cast<unsigned*>(cells)[i] = bits;
  } else {
    static_cast<Bits16*>(cells)[i] = static_cast<Bits16>(bits);
  }
}

__device__ float value_of(unsigned bits, int type) {
  if (type == kTypeF32) return __uint_as_float(bits);
  if (type == kTypeF16) return element_to_float<kTypeF16>(static_cast<Bits16>(bits));
  return element_to_float<kTypeBf16>(static_cast<Bits16>(bits));
}

// The number rounded to the type, to nearest, ties to even. To bf16 by hand, because the
// instruction needs sm_80.
__device__ unsigned bits_of(float number, int type) {
  const unsigned bits = __float_as_uint(number);
  if (type == kTypeF32) return bits;
  if (type == kTypeF16) return element_from_float<kTypeF16>(number);
  return (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
}

}  // namespace
}  // namespace gemm_tune
