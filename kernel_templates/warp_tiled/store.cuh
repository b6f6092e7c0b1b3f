// SPDX-License-Identifier: Apache-2.0
// A thread's sums on their way to D, each from the thread that has it.
#pragma once

#include "kernel_templates/device/call/epilogue.cuh"
#include "kernel_templates/device/call/pointer_batch.cuh"
#include "kernel_templates/device/tile/raster.cuh"
#include "kernel_templates/device/tile/tile_store.cuh"
#include "kernel_templates/warp_tiled/warps_k.cuh"

namespace gemm_tune::warp_tiled {

// Of a batch of pointers.
__device__ inline bool has_aligned_matrices(const KernelArgs& args) {
  return are_aligned<kP.TYPE_A, kP.TYPE_B, kTypeF32, kVecA, kVecB, kVecD>(args);
}

__device__ inline void store(const OwnSums& sums, const KernelArgs& args, TileOrigin origin,
                             const Place& place) {
  const int first = first_own_row(static_cast<int>(threadIdx.x));
  store_thread_tile<kVecD, kPredicated>(
      sums.x, args,
      [&](int i) {
        return origin.row + place.row + element_offset(lanes_m(kP), place.lane_m, first + i);
      },
      [&](int j) { return origin.col + place.col + element_offset(lanes_n(kP), place.lane_n, j); });
}

// Sums i to i + kVecD - 1 of any thread's OwnSums.
__device__ inline void store_part(int thread, int i, const Vec<kVecD>& sums, const KernelArgs& args,
                                  TileOrigin origin) {
  const Place place(thread);
  const int in_m = element_offset(lanes_m(kP), place.lane_m, first_own_row(thread) + i / kP.TN);
  const int in_n = element_offset(lanes_n(kP), place.lane_n, i % kP.TN);
  const int row = origin.row + place.row + in_m, col = origin.col + place.col + in_n;
  if (kPredicated && !in_bounds(row, args.M)) return;
  store_d<kVecD, kPredicated>(args, row, col, sums);
}

}  // namespace gemm_tune::warp_tiled
