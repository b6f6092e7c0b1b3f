// SPDX-License-Identifier: Apache-2.0
// What every kernel does with its sums: D = alpha * sum + beta * C, with BLAS's two exceptions, and
// the epilogue of the call's form on that.
//
// beta == 0 never reads C, so a NaN there cannot leak; alpha == 0 never reads A or B.
#pragma once

#include "kernel_templates/device/call/call_form.cuh"
#include "kernel_templates/device/element/vec.cuh"

namespace gemm_tune {

// The K that the main loop must cover: none where alpha is 0.
__device__ inline int reduction_length(const KernelArgs& args) {
  return args.alpha == 0.0f ? 0 : args.K;
}

// Stores VEC neighbouring outputs of one row of D. Where PREDICATED, those past the matrix edge are
// left out.
template <int VEC, bool PREDICATED, class Args>
__device__ inline void store_d(const Args& args, int row, int col, const Vec<VEC>& sum) {
  float* const d = args.D + row * args.ldc + col;
  const float* c = d;
  if constexpr (!kInPlace) c = args.C + row * args.ldc + col;
  const int cols_left = args.N - col;
  if (PREDICATED && !in_bounds(VEC - 1, cols_left)) {
#pragma unroll
    for (int i = 0; i < VEC; ++i) {
      if (!in_bounds(i, cols_left)) break;
      const float old = args.beta == 0.0f ? 0.0f : args.beta * c[i];
      float out[1] = {args.alpha * sum.x[i] + old};
      apply_epilogue<kTypeF32>(out, args, row, col + i);
      d[i] = out[0];
    }
    return;
  }
  Vec<VEC> out;
  if (args.beta == 0.0f) {
#pragma unroll
    for (int i = 0; i < VEC; ++i) out.x[i] = args.alpha * sum.x[i];
  } else {
    const Vec<VEC> old = load_vec<VEC>(c);
#pragma unroll
    for (int i = 0; i < VEC; ++i) out.x[i] = args.alpha * sum.x[i] + args.beta * old.x[i];
  }
  apply_epilogue<kTypeF32>(out.x, args, row, col);
  store_vec<VEC>(d, out);
}

}  // namespace gemm_tune
