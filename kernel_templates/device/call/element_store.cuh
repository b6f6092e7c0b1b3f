// SPDX-License-Identifier: Apache-2.0
// Stores fp32 sums as elements of D: D = alpha * sum + beta * C, computed in fp32 and rounded once.
//
// beta == 0 never reads C, so a NaN there cannot leak. C and D are of one type.
#pragma once

#include "kernel_templates/device/call/call_form.cuh"
#include "kernel_templates/device/element/element.cuh"
#include "kernel_templates/device/element/vec.cuh"

namespace gemm_tune {

// Where an element of C or D lies, of the CTA's product of the batch.
template <int TYPE, int COUNT>
__device__ inline Elements<TYPE, COUNT>* elements_at(const float* matrix, const KernelArgs& args,
                                                     int row, int col) {
  auto* const first = reinterpret_cast<Element<TYPE>*>(const_cast<float*>(matrix));
  return reinterpret_cast<Elements<TYPE, COUNT>*>(first + blockIdx.z * args.stride_c +
                                                  row * args.ldc + col);
}

// Stores COUNT neighbours of a row in one access.
template <int TYPE, int COUNT, class Args>
__device__ inline void store_elements(const Args& args, int row, int col, const float* sums) {
  auto* const d = elements_at<TYPE, COUNT>(args.D, args, row, col);
  const auto* c = d;
  if constexpr (!kInPlace) c = elements_at<TYPE, COUNT>(args.C, args, row, col);
  const Elements<TYPE, COUNT> old = args.beta == 0.0f ? Elements<TYPE, COUNT>{} : *c;
  float values[COUNT];
#pragma unroll
  for (int i = 0; i < COUNT; ++i) values[i] = args.alpha * sums[i] + args.beta * old.x[i].value();
  apply_epilogue<TYPE>(values, args, row, col);
  Elements<TYPE, COUNT> out;
#pragma unroll
  for (int i = 0; i < COUNT; ++i) out.x[i] = Element<TYPE>::of(values[i]);
  *d = out;
}

// Stores COUNT sums at (row, col) and the columns after it, in one access where D's rows are
// aligned to VEC >= COUNT elements; col is a multiple of COUNT. With PREDICATED, what lies outside
// D is left out.
template <int TYPE, int COUNT, int VEC, bool PREDICATED>
__device__ inline void store_neighbours(const KernelArgs& args, int row, int col,
                                        const float* sums) {
  if (PREDICATED && !in_bounds(row, args.M)) return;
  if constexpr (VEC >= COUNT) {
    if (!PREDICATED || in_bounds(col + COUNT - 1, args.N)) {
      return store_elements<TYPE, COUNT>(args, row, col, sums);
    }
  }
#pragma unroll
  for (int i = 0; i < COUNT; ++i) {
    if (PREDICATED && !in_bounds(col + i, args.N)) break;
    store_elements<TYPE, 1>(args, row, col + i, sums + i);
  }
}

}  // namespace gemm_tune
