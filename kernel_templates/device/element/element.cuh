// SPDX-License-Identifier: Apache-2.0
// An element of a matrix, of any type, and neighbours of a row that one access brings.
#pragma once

#include "kernel_templates/device/element/element_convert.cuh"

namespace gemm_tune {

template <int TYPE>
struct Element {
  Bits16 bits;

  __device__ float value() const { return element_to_float<TYPE>(bits); }
  static __device__ Element of(float value) { return {element_from_float<TYPE>(value)}; }
};
template <>
struct Element<kTypeF32> {
  float x;

  __device__ float value() const { return x; }
  static __device__ Element of(float value) { return {value}; }
};

// Neighbours of a row that one access brings.
template <int TYPE, int COUNT>
struct alignas(COUNT * sizeof(Element<TYPE>)) Elements {
  Element<TYPE> x[COUNT];
};

}  // namespace gemm_tune
