// SPDX-License-Identifier: Apache-2.0
// Elements of a type that is known when a kernel runs: their bits in memory, and their values.
// For kernels that check results, not for those that are timed.
#pragma once

#include "kernel_templates/device/element/element_convert.cuh"

namespace gemm_tune {
namespace {

__device__ unsigned load_bits(const void* cells, long long i, int type) {
  if (type == kTypeF32) return static_cast<const unsigned*>(cells)[i];
  if (type == kTypeE4m3) return static_cast<const unsigned char*>(cells)[i];
  return static_cast<const Bits16*>(cells)[i];
}

__device__ void store_bits(void* cells, long long i, int type, unsigned bits) {
  if (type == kTypeF32) {
    static_cast<unsigned*>(cells)[i] = bits;
  } else if (type == kTypeE4m3) {
    static_cast<unsigned char*>(cells)[i] = static_cast<unsigned char>(bits);
  } else {
    static_cast<Bits16*>(cells)[i] = static_cast<Bits16>(bits);
  }
}

// e4m3: a sign, 4 exponent bits with a bias of 7, 3 fraction bits; all but the sign set are NaN.
__device__ float value_of_e4m3(unsigned bits) {
  const unsigned magnitude = bits & 0x7f, sign = bits >> 7 << 31;
  if (magnitude == 0x7f) return __uint_as_float(sign | 0x7fffffff);
  if (magnitude >= 8) return __uint_as_float(sign | ((magnitude + (120u << 3)) << 20));
  return __uint_as_float(sign | __float_as_uint(static_cast<float>(magnitude) * 0x1p-9f));
}

// Larger numbers become the largest one, 448.
__device__ unsigned e4m3_of(float number) {
  const unsigned bits = __float_as_uint(number), sign = bits >> 31 << 7;
  const unsigned magnitude = bits & 0x7fffffff;
  if (magnitude > 0x7f800000) return 0x7f;
  if (magnitude >= __float_as_uint(448)) return sign | 0x7e;
  if (magnitude >= __float_as_uint(0x1p-6f)) {
    return sign | (((magnitude + 0x7ffff + (magnitude >> 20 & 1)) >> 20) - (120u << 3));
  }
  // The last bit of a float from 2^14 on is 2^-9, the unit of subnormal numbers.
  return sign | (__float_as_uint(__uint_as_float(magnitude) + 0x1p14f) & 0xff);
}

__device__ float value_of(unsigned bits, int type) {
  if (type == kTypeF32) return __uint_as_float(bits);
  if (type == kTypeF16) return element_to_float<kTypeF16>(static_cast<Bits16>(bits));
  if (type == kTypeE4m3) return value_of_e4m3(bits);
  return element_to_float<kTypeBf16>(static_cast<Bits16>(bits));
}

// The number rounded to the type, to nearest, ties to even. To bf16 by hand, because the
// instruction needs sm_80.
__device__ unsigned bits_of(float number, int type) {
  const unsigned bits = __float_as_uint(number);
  if (type == kTypeF32) return bits;
  if (type == kTypeF16) return element_from_float<kTypeF16>(number);
  if (type == kTypeE4m3) return e4m3_of(number);
  return (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
}

}  // namespace
}  // namespace gemm_tune
