// SPDX-License-Identifier: Apache-2.0
// Writes a thread's TM x TN sums to D.
#pragma once

#include "kernel_templates/device/call/epilogue.cuh"

namespace gemm_tune {

// row_of(i) and col_of(j) tell the row and column of D of sum[i][j]; VEC columns that start at a
// multiple of VEC must be neighbours in D. With PREDICATED, what lies outside D is left out.
template <int VEC, bool PREDICATED, int TM, int TN, class RowOf, class ColOf>
__device__ inline void store_thread_tile(const float (&sum)[TM][TN], const KernelArgs& args,
                                         RowOf row_of, ColOf col_of) {
#pragma unroll
  for (int i = 0; i < TM; ++i) {
    const int row = row_of(i);
    if (PREDICATED && !in_bounds(row, args.M)) continue;
#pragma unroll
    for (int j = 0; j < TN; j += VEC) {
      const int col = col_of(j);
      Vec<VEC> v;
#pragma unroll
      for (int c = 0; c < VEC; ++c) v.x[c] = sum[i][j + c];
      store_d<VEC, PREDICATED>(args, row, col, v);
    }
  }
}

}  // namespace gemm_tune
