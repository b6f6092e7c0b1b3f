// SPDX-License-Identifier: Apache-2.0
// The reduction kernel of a config with REDUCE: adds up the sums of the parts that the last tiles
// were cut into, in the order of k, and stores D's elements.
//
// A thread has four sums of one thread of the kernel that multiplies: pairs of columns in two rows.
#pragma once

#include "kernel_templates/wgmma/elements.cuh"
#include "kernel_templates/wgmma/partial_sums.cuh"

namespace gemm_tune::wgmma {

// The grid's x counts parts of a CTA's tile, y the CTAs of the cluster tiles that are cut.
extern "C" __global__ void __launch_bounds__(kReduceThreads, kReduceCtas)
    reduce(const __grid_constant__ Args args) {
  allow_next_launch();
  await_earlier_launch();
  const int unit = static_cast<int>(blockIdx.x) * kReduceThreads + static_cast<int>(threadIdx.x);
  const int cta = static_cast<int>(blockIdx.y);
  Unit tile;
  locate(args, ClusterPlace(cta % kClusterCtas),
         tiles_of(args.tiles) - args.cut_tiles + cta / kClusterCtas, tile);
  Vec<kReduceSums> sums = PartSums::sum_up(args.partials, cta * args.parts, args.parts, unit);
  const int holder = PartSums::thread_of(unit), first = PartSums::first_of(unit);
  const int block = first / (kP.BN / 2), columns = first % (kP.BN / 2) / kReduceSums * 8;
  const int col = tile.col + columns + holder % 4 * 2;
  const float factor = factor_of_sums(args);
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const int row = tile.row + holder / kGroup * group_rows(kP) + row_of_sums(holder, block, half);
    if (row >= args.rows || col >= args.cols) continue;
    float* const x = sums.x + 2 * half;
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      x[i] = scaled(factor, x[i]);
      if (args.beta != 0.0f && col + i < args.cols) add_c(args, x[i], tile.batch, row, col + i);
    }
    if constexpr (kHasEpilogue) apply_epilogue(args, x, tile.batch, row, col);
    store_pair(args, x, tile.batch, row, col);
  }
}

}  // namespace gemm_tune::wgmma
