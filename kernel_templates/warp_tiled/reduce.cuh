// SPDX-License-Identifier: Apache-2.0
// The reduction kernel of a config with REDUCE: adds up the shares of tiles that CTAs of the
// product left in the workspace, and stores the sums.
#pragma once

#include "kernel_templates/device/call/call_form.cuh"
#include "kernel_templates/device/sum/share_reduce.cuh"
#include "kernel_templates/device/tile/raster.cuh"
#include "kernel_templates/warp_tiled/store.cuh"

namespace gemm_tune::warp_tiled {

using Reduced = ShareReduce<threads(kP), kOwnRows * kP.TN>;

// The grid's x counts parts of a tile, y the tiles that are shared, z the batch.
extern "C" __global__ void __launch_bounds__(kReduceThreads, kReduceCtas)
    reduce(const KernelArgs all) {
  const KernelArgs args = own_product<kPointers>(all);
  if constexpr (kPointers) {
    if (!has_aligned_matrices(args)) return;  // the product's kernel stored it
  }
  const int unit = static_cast<int>(blockIdx.x) * kReduceThreads + static_cast<int>(threadIdx.x);
  int tile = static_cast<int>(blockIdx.y), shares = kP.SPLIT_K;
  if constexpr (kP.TAIL != 0) {
    tile += ((args.M - 1) / kP.BM + 1) * ((args.N - 1) / kP.BN + 1) - static_cast<int>(gridDim.y);
    shares = (args.K - 1) / args.piece_k + 1;
  }
  const int cut = static_cast<int>(gridDim.y * blockIdx.z + blockIdx.y);
  const Vec<kReduceSums> sums = Reduced::sum_up(args.partials, cut * shares, shares, unit);
  const TileOrigin origin = raster_origin<kP.BM, kP.BN, kP.RASTER>(tile, args);
#pragma unroll
  for (int i = 0; i < kReduceSums; i += kVecD) {
    Vec<kVecD> part;
#pragma unroll
    for (int j = 0; j < kVecD; ++j) part.x[j] = sums.x[i + j];
    store_part(Reduced::thread_of(unit), Reduced::first_of(unit) + i, part, args, origin);
  }
}

}  // namespace gemm_tune::warp_tiled
