// SPDX-License-Identifier: Apache-2.0
// What every kernel does with its sums: D = alpha * sum + beta * C, with BLAS's two exceptions.
// With TUNED_EPILOGUE the bias is added to that.
//
// beta == 0 never reads C, so a NaN there cannot leak; alpha == 0 never reads A or B.
#pragma once

#ifdef TUNED_EPILOGUE
#include "kernel_templates/device/bias.cuh"
#endif
#include "kernel_templates/device/gemm_args.cuh"
#include "kernel_templates/device/vec.cuh"

namespace gemm_tune {

// The K that the main loop must cover: none where alpha is 0.
__device__ inline int reduction_length(const GemmArgs& args) {
  return args.alpha == 0.0f ? 0 : args.K;
}

// Stores VEC neighbouring outputs of one row of D. Where PREDICATED, those past the matrix edge are
// left out.
template <int VEC, bool PREDICATED>
__device__ inline void store_d(const GemmArgs& args, int row, int col, const Vec<VEC>& sum) {
  float* const d = args.D + row * args.ldc + col;
  const float* c = d;
#ifndef TUNED_IN_PLACE
  c = args.C + row * args.ldc + col;
#endif
#ifdef TUNED_EPILOGUE
  const float* const bias = static_cast<const float*>(args.bias) + col;
#endif
  const int cols_left = args.N - col;
  if (PREDICATED && !in_bounds(VEC - 1, cols_left)) {
#pragma unroll
    for (int i = 0; i < VEC; ++i) {
      if (!in_bounds(i, cols_left)) break;
      const float old = args.beta == 0.0f ? 0.0f : args.beta * c[i];
#ifdef TUNED_EPILOGUE
      d[i] = with_bias(args.alpha * sum.x[i] + old, bias[i]);
#else
      d[i] = args.alpha * sum.x[i] + old;
#endif
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
#ifdef TUNED_EPILOGUE
#pragma unroll
  for (int i = 0; i < VEC; ++i) out.x[i] = with_bias(out.x[i], bias[i]);
#endif
  store_vec<VEC>(d, out);
}

}  // namespace gemm_tune
