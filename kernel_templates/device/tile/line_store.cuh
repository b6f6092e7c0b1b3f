// SPDX-License-Identifier: Apache-2.0
// Writes sums that a warp holds line by line: what store_d() (device/call/epilogue.cuh) does, for a
// lane's elements of several rows at once, so that neither loads nor stores wait for each other.
#pragma once

#include "kernel_templates/device/call/epilogue.cuh"

namespace gemm_tune {

// sum[m][j] belongs to row + m * row_step and col + j * col_step of D. With PREDICATED, what lies
// outside D is left out.
template <bool PREDICATED, int ROWS, int COLS, class Args>
__device__ inline void store_lines(const float (&sum)[ROWS][COLS], const Args& args, int row,
                                   int row_step, int col, int col_step) {
  const auto is_inside = [&](int m, int j) {
    return !PREDICATED ||
           (in_bounds(row + m * row_step, args.M) && in_bounds(col + j * col_step, args.N));
  };
  float* const d = args.D + row * args.ldc + col;
  const float* c = d;
  if constexpr (!kInPlace) c = args.C + row * args.ldc + col;
  const long long step = row_step * args.ldc;
  float out[ROWS][COLS];
#pragma unroll
  for (int m = 0; m < ROWS; ++m) {
#pragma unroll
    for (int j = 0; j < COLS; ++j) out[m][j] = args.alpha * sum[m][j];
  }
  if (args.beta != 0.0f) {
#pragma unroll
    for (int m = 0; m < ROWS; ++m) {
#pragma unroll
      for (int j = 0; j < COLS; ++j) {
        if (is_inside(m, j)) out[m][j] += args.beta * c[m * step + j * col_step];
      }
    }
  }
#pragma unroll
  for (int m = 0; m < ROWS; ++m) {
#pragma unroll
    for (int j = 0; j < COLS; ++j) {
      if (!is_inside(m, j)) continue;
      float one[1] = {out[m][j]};
      apply_epilogue<kTypeF32>(one, args, row + m * row_step, col + j * col_step);
      d[m * step + j * col_step] = one[0];
    }
  }
}

}  // namespace gemm_tune
