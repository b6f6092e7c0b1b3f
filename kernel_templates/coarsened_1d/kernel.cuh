// SPDX-License-Identifier: Apache-2.0
// coarsened_1d: C = alpha * A * B + beta * C on CUDA cores, a thread computes TM rows of one
// column.
//
// A [M,K], B [K,N], C [M,N] row-major. A CTA computes BM x BN in slices of BK in shared memory.
// Each value of B is loaded once into a register and serves TM multiplications. PRED picks the edge
// handling: 1 for any shape, 0 for multiples of the tile.
#pragma once

#include "kernel_templates/coarsened_1d/params.cuh"
#include "kernel_templates/device/call/call_form.cuh"
#include "kernel_templates/device/tile/tile_gemm.cuh"

namespace gemm_tune::coarsened_1d {

constexpr Params kP = TUNED_PARAMS;
static_assert(reject(kP) == nullptr);

__device__ inline void multiply_slice(float (&sum)[kP.TM][1], const float* a_tile,
                                      const float* b_tile, int row, int col) {
  constexpr int kUnroll = unroll(kP);
#pragma unroll kUnroll
  for (int k = 0; k < kP.BK; ++k) {
    const float b = b_tile[k * kP.BN + col];
#pragma unroll
    for (int i = 0; i < kP.TM; ++i) sum[i][0] += a_tile[(row + i) * kP.BK + k] * b;
  }
}

extern "C" __global__ void __launch_bounds__(threads(kP)) gemm(const KernelArgs all) {
  compute_tile<tile(kP), kP.PRED != 0>(
      all, [](float(&sum)[kP.TM][1], const float* a_tile, const float* b_tile, int row, int col) {
        multiply_slice(sum, a_tile, b_tile, row, col);
      });
}

}  // namespace gemm_tune::coarsened_1d
