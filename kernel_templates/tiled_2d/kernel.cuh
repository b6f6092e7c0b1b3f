// SPDX-License-Identifier: Apache-2.0
// tiled_2d: C = alpha * A * B + beta * C on CUDA cores, a 2D thread tile fed by scalar accesses.
//
// A [M,K], B [K,N], C [M,N] row-major. A CTA computes BM x BN, a thread TM x TN, in slices of BK in
// shared memory, both stored as they lie in global memory. A k step loads TM + TN values for
// TM * TN multiplications. PRED picks the edge handling: 1 for any shape, 0 for multiples of the
// tile. vectorized_2d is the next step.
#pragma once

#include "kernel_templates/device/call/call_form.cuh"
#include "kernel_templates/device/tile/tile_gemm.cuh"
#include "kernel_templates/tiled_2d/params.cuh"

namespace gemm_tune::tiled_2d {

constexpr Params kP = TUNED_PARAMS;
static_assert(reject(kP) == nullptr);

__device__ inline void multiply_slice(float (&sum)[kP.TM][kP.TN], const float* a_tile,
                                      const float* b_tile, int row, int col) {
  constexpr int kUnroll = unroll(kP);
#pragma unroll kUnroll
  for (int k = 0; k < kP.BK; ++k) {
    float a[kP.TM], b[kP.TN];
#pragma unroll
    for (int i = 0; i < kP.TM; ++i) a[i] = a_tile[(row + i) * kP.BK + k];
#pragma unroll
    for (int j = 0; j < kP.TN; ++j) b[j] = b_tile[k * kP.BN + col + j];
#pragma unroll
    for (int i = 0; i < kP.TM; ++i) {
#pragma unroll
      for (int j = 0; j < kP.TN; ++j) sum[i][j] += a[i] * b[j];
    }
  }
}

extern "C" __global__ void __launch_bounds__(threads(kP)) gemm(const KernelArgs all) {
  compute_tile<tile(kP), kP.PRED != 0>(
      all, [](float(&sum)[kP.TM][kP.TN], const float* a_tile, const float* b_tile, int row,
              int col) { multiply_slice(sum, a_tile, b_tile, row, col); });
}

}  // namespace gemm_tune::tiled_2d
