// SPDX-License-Identifier: Apache-2.0
// Stores fp32 sums as elements of D: D = alpha * sum + beta * C, computed in fp32 and rounded once.
//
// beta == 0 never reads C, so a NaN there cannot leak. C and D are of one type, and so is the bias,
// which is added in fp32 with TUNED_EPILOGUE.
#pragma once

#ifdef TUNED_EPILOGUE
#include "kernel_templates/device/bias.cuh"
#endif
#include "kernel_templates/device/element_convert.cuh"
#include "kernel_templates/device/gemm_args.cuh"
#include "kernel_templates/device/vec.cuh"

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

// Where an element of C or D lies, of the CTA's product of the batch.
template <int TYPE, int COUNT>
__device__ inline Elements<TYPE, COUNT>* elements_at(const float* matrix, const GemmArgs& args,
                                                     int row, int col) {
  auto* const first = reinterpret_cast<Element<TYPE>*>(const_cast<float*>(matrix));
  return reinterpret_cast<Elements<TYPE, COUNT>*>(first + blockIdx.z * args.stride_c +
                                                  row * args.ldc + col);
}

// Stores COUNT neighbours of a row in one access.
template <int TYPE, int COUNT>
__device__ inline void store_elements(const GemmArgs& args, int row, int col, const float* sums) {
  auto* const d = elements_at<TYPE, COUNT>(args.D, args, row, col);
  const auto* c = d;
#ifndef TUNED_IN_PLACE
  c = elements_at<TYPE, COUNT>(args.C, args, row, col);
#endif
  const Elements<TYPE, COUNT> old = args.beta == 0.0f ? Elements<TYPE, COUNT>{} : *c;
#ifdef TUNED_EPILOGUE
  const auto* const bias = static_cast<const Element<TYPE>*>(args.bias) + col;
#endif
  Elements<TYPE, COUNT> out;
#pragma unroll
  for (int i = 0; i < COUNT; ++i) {
#ifdef TUNED_EPILOGUE
    out.x[i] = Element<TYPE>::of(
        with_bias(args.alpha * sums[i] + args.beta * old.x[i].value(), bias[i].value()));
#else
    out.x[i] = Element<TYPE>::of(args.alpha * sums[i] + args.beta * old.x[i].value());
#endif
  }
  *d = out;
}

// Stores sums[0] and [1] at (row, col) and (row, col + 1), in one access where D's rows are aligned
// to VEC > 1 elements; col is even. With PREDICATED, what lies outside D is left out.
template <int TYPE, int VEC, bool PREDICATED>
__device__ inline void store_pair(const GemmArgs& args, int row, int col, const float* sums) {
  if (PREDICATED && !in_bounds(row, args.M)) return;
  if constexpr (VEC > 1) {
    if (!PREDICATED || in_bounds(col + 1, args.N)) {
      return store_elements<TYPE, 2>(args, row, col, sums);
    }
  }
#pragma unroll
  for (int i = 0; i < 2; ++i) {
    if (PREDICATED && !in_bounds(col + i, args.N)) break;
    store_elements<TYPE, 1>(args, row, col + i, sums + i);
  }
}

}  // namespace gemm_tune
