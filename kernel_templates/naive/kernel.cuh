// SPDX-License-Identifier: Apache-2.0
// naive: C = alpha * A * B + beta * C on CUDA cores, one thread per element, no shared memory.
//
// A [M,K], B [K,N], C [M,N] row-major. A CTA computes BM x BN; every thread reads its row of A and
// its column of B from global memory. COALESCED picks which elements neighbouring threads compute:
// 1 along a row of C, so that a warp's loads of B and stores of C fall into the same lines; 0 down
// a column, so that each lane touches a line of its own. PRED picks the edge handling: 1 for any
// shape, 0 for multiples of the tile.
#pragma once

#include "kernel_templates/device/call/call_form.cuh"
#include "kernel_templates/device/call/epilogue.cuh"
#include "kernel_templates/device/tile/raster.cuh"
#include "kernel_templates/naive/params.cuh"

namespace gemm_tune::naive {

constexpr Params kP = TUNED_PARAMS;
static_assert(reject(kP) == nullptr);

extern "C" __global__ void __launch_bounds__(threads(kP)) gemm(const KernelArgs all) {
  const KernelArgs args = batch_entry(all);
  const TileOrigin origin = tile_origin<kP.BM, kP.BN>(args.N);
  const int row = origin.row + thread_row(kP, static_cast<int>(threadIdx.x));
  const int col = origin.col + thread_col(kP, static_cast<int>(threadIdx.x));
  if (kP.PRED != 0 && !in_bounds(row, args.M)) return;
  if (kP.PRED != 0 && !in_bounds(col, args.N)) return;
  const float* a = args.A + row * args.lda;
  const float* b = args.B + col;
  const int K = reduction_length(args);

  Vec<1> sum = {{0.0f}};
  for (int k = 0; k < K; ++k) sum.x[0] += a[k] * b[k * args.ldb];
  store_d<1, false>(args, row, col, sum);
}

}  // namespace gemm_tune::naive
