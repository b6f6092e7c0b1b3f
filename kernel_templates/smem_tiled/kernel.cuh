// SPDX-License-Identifier: Apache-2.0
// smem_tiled: C = alpha * A * B + beta * C on CUDA cores, slices of A and B shared through shared
// memory.
//
// A [M,K], B [K,N], C [M,N] row-major. A CTA computes BM x BN, a thread one element, in slices of
// BK, so that every element read from global memory serves a whole row or column of the tile.
// UNROLL 1 unrolls the loop over a slice, which also lets the compiler merge a thread's loads of A.
// PRED picks the edge handling: 1 for any shape, 0 for multiples of the tile.
#pragma once

#include "kernel_templates/device/call/call_form.cuh"
#include "kernel_templates/device/tile/tile_gemm.cuh"
#include "kernel_templates/smem_tiled/params.cuh"

namespace gemm_tune::smem_tiled {

constexpr Params kP = TUNED_PARAMS;
static_assert(reject(kP) == nullptr);

__device__ inline void multiply_slice(float (&sum)[1][1], const float* a_tile, const float* b_tile,
                                      int row, int col) {
  constexpr int kUnroll = unroll(kP);
#pragma unroll kUnroll
  for (int k = 0; k < kP.BK; ++k) {
    sum[0][0] += a_tile[row * kP.BK + k] * b_tile[k * kP.BN + col];
  }
}

extern "C" __global__ void __launch_bounds__(threads(kP)) gemm(const KernelArgs all) {
  compute_tile<tile(kP), kP.PRED != 0>(
      all, [](float(&sum)[1][1], const float* a_tile, const float* b_tile, int row, int col) {
        multiply_slice(sum, a_tile, b_tile, row, col);
      });
}

}  // namespace gemm_tune::smem_tiled
