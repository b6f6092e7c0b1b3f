// SPDX-License-Identifier: Apache-2.0
// A CTA's tile of C, slice by slice of A and B through shared memory, both stored there as they lie
// in global memory.
//
// Everything but the multiplication, in which the families differ. One slice is in shared memory at
// a time: all threads copy it, multiply it, and meet before the next.
#pragma once

#include "kernel_templates/device/call/call_form.cuh"
#include "kernel_templates/device/call/epilogue.cuh"
#include "kernel_templates/device/copy/tile_load.cuh"
#include "kernel_templates/device/tile/raster.cuh"
#include "kernel_templates/device/tile/smem.cuh"
#include "kernel_templates/device/tile/thread_tile.cuh"
#include "kernel_templates/device/tile/tile_store.cuh"

namespace gemm_tune {

// multiply(sum, a_tile, b_tile, row, col) adds a slice's products: a_tile is [BM][BK], b_tile
// [BK][BN], row and col are those of the thread's first element in the CTA tile.
template <ThreadTile T, bool PREDICATED, class Multiply>
__device__ inline void compute_tile(const KernelArgs& all, Multiply multiply) {
  const KernelArgs args = batch_entry(all);
  SharedMemory smem;
  float* const a_tile = smem.take(T.BM * T.BK);
  float* const b_tile = smem.take(T.BK * T.BN);
  const TileOrigin origin = tile_origin<T.BM, T.BN>(args.N);
  const int row = static_cast<int>(threadIdx.x) / threads_n(T) * T.TM;
  const int col = static_cast<int>(threadIdx.x) % threads_n(T) * T.TN;
  const float* a = args.A + origin.row * args.lda;
  const float* b = args.B + origin.col;
  const int K = reduction_length(args);

  float sum[T.TM][T.TN] = {};
  for (int k0 = 0; k0 < K; k0 += T.BK) {
    TileCopy<T.BM, T.BK, threads(T), 1, PREDICATED, TileOrder::row_major, T.BK> a_copy;
    TileCopy<T.BK, T.BN, threads(T), 1, PREDICATED, TileOrder::row_major, T.BN> b_copy;
    a_copy.load(a + k0, args.lda, args.M - origin.row, K - k0);
    b_copy.load(b + k0 * args.ldb, args.ldb, K - k0, args.N - origin.col);
    a_copy.store(a_tile);
    b_copy.store(b_tile);
    __syncthreads();
    multiply(sum, a_tile, b_tile, row, col);
    __syncthreads();
  }
  store_thread_tile<1, PREDICATED>(
      sum, args, [&](int i) { return origin.row + row + i; },
      [&](int j) { return origin.col + col + j; });
}

}  // namespace gemm_tune
