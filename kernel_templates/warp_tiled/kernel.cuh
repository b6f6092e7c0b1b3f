// SPDX-License-Identifier: Apache-2.0
// warp_tiled: C = alpha * op(A) * op(B) + beta * C on CUDA cores, tiled for CTAs, warps and
// threads.
//
// A CTA computes BM x BN in slices of BK that lie in STAGES buffers of shared memory, both operands
// there with k running from row to row; a warp WM x WN, a thread TM x TN in groups of four that are
// dealt out across the warp tile. WARPS_K groups of warps share the k steps of a slice. ASYNC says
// which operands cp.async brings: none, all, or those that need no transposing on the way; the
// others pass through registers. FRAGMENTS = 2 loads a k step's operands while the one before is
// multiplied. RASTER tile rows are walked side by side, CTAS is the resident CTAs per SM that the
// compiler must allow. SPLIT_K CTAs share a tile along K, with CLUSTER as a cluster; TAIL, for so
// many CTAs at once on each SM, cuts the tiles of a ragged last wave. TA and TB pick the layout,
// PRED the edge handling: 1 for any shape, 0 for multiples of the tile. LINES = 1, for accesses of
// 4 bytes: a warp's copies and its stores of D go along whole lines. TYPE_A and TYPE_B: elements of
// f16 or bf16 become f32 on their way to shared memory.
#pragma once

#include "kernel_templates/device/call/call_form.cuh"
#include "kernel_templates/device/call/epilogue.cuh"
#include "kernel_templates/device/call/pointer_batch.cuh"
#include "kernel_templates/device/copy/pre_pass.cuh"
#include "kernel_templates/device/sum/cluster_sum.cuh"
#include "kernel_templates/device/sum/share_reduce.cuh"
#include "kernel_templates/device/sum/share_sum.cuh"
#include "kernel_templates/device/tile/raster.cuh"
#include "kernel_templates/device/tile/smem.cuh"
#include "kernel_templates/device/tile/tail.cuh"
#include "kernel_templates/warp_tiled/segment.cuh"
#include "kernel_templates/warp_tiled/store.cuh"
#include "kernel_templates/warp_tiled/store_gathered.cuh"
#include "kernel_templates/warp_tiled/warps_k.cuh"

namespace gemm_tune::warp_tiled {

static_assert(has_its_cluster(cluster_ctas(kP)),
              "clusters need sm_90, and TUNED_CLUSTER says of how many CTAs");

__device__ inline TilePiece piece_of(const KernelArgs& args, int K) {
  if constexpr (kP.TAIL != 0) return tile_piece<kP.BM, kP.BN>(args, K);
  const int tile = static_cast<int>(blockIdx.x), share = static_cast<int>(blockIdx.y);
  const int number = static_cast<int>(gridDim.x * blockIdx.z) + tile;  // of all the batch's tiles
  return {tile, share_of_k<kP.BK, kP.SPLIT_K>(K, share), share, kP.SPLIT_K, number};
}

// Adds up the shares of a tile that is cut along K. False where others store the tile.
template <Params P>
__device__ inline bool add_shares(OwnSums& own, const KernelArgs& args, const TilePiece& piece) {
  using Shares = ShareSum<threads(P), kOwnRows * P.TN>;
  using Reduced = ShareReduce<threads(P), kOwnRows * P.TN>;
  if constexpr (P.REDUCE != 0) {
    if (piece.shares > 1) {
      Reduced::leave(&own.x[0][0], args.partials, piece.cut * piece.shares + piece.share,
                     static_cast<int>(threadIdx.x));
      return false;
    }
  } else {
    if (piece.shares > 1 &&
        !Shares::add(&own.x[0][0], args.partials, args.counters + piece.cut * (piece.shares + 1),
                     piece.share, piece.shares,
                     [&](int share) { return piece.cut * piece.shares + share; }))
      return false;
  }
  return true;
}

// buffer: shared memory that nobody needs any more.
template <Params P>
__device__ inline void store_tile(const OwnSums& own, const KernelArgs& args, TileOrigin origin,
                                  const Place& place, float* buffer) {
  if constexpr (P.LINES != 0 && kVecD == 1 && gathers_rows(P)) {
    store_gathered<P>(own, args, origin, place, buffer);
  } else {
    store(own, args, origin, place);
  }
}

using Cluster = ClusterSum<threads(kP), kOwnRows * kP.TN, kVecD, kP.SPLIT_K>;

extern "C" __global__ void GT_CLUSTER __launch_bounds__(threads(kP), kP.CTAS)
    gemm(const KernelArgs all) {
  const KernelArgs args = own_product<kPointers, kP.TYPE_A, kP.TYPE_B>(all);
  if constexpr (kPointers) {
    if (!has_aligned_matrices(args)) {
      return compute_elements<kP.TYPE_A, kP.TYPE_B, kTypeF32, kP.TA != 0, kP.TB != 0>(args);
    }
  }
  SharedMemory smem;
  float* const buffer = smem.take(smem_bytes(kP) / static_cast<int>(sizeof(float)));
  float* const a_smem = buffer;              // [STAGES][BK][a_ld]
  float* const b_smem = buffer + kFirstOfB;  // [STAGES][BK][b_ld]
  const Place place(static_cast<int>(threadIdx.x));
  const int K = reduction_length(args);

  const TilePiece piece = piece_of(args, K);
  const TileOrigin origin = raster_origin<kP.BM, kP.BN, kP.RASTER>(piece.tile, args);
  Sums sums = {};
  Segment(args, origin, piece.k, a_smem, b_smem, place).multiply(sums, piece.k.end - piece.k.begin);
  if constexpr (kP.WARPS_K > 1) __syncthreads();  // nobody reads the stages any more
  OwnSums own = add_warps_k(sums, buffer);
  if constexpr (kP.CLUSTER != 0) {
    Cluster::add(&own.x[0][0], buffer, piece.share, [&](int thread, int i, const Vec<kVecD>& v) {
      store_part(thread, i, v, args, origin);
    });
    return;
  }
  if constexpr (kP.SPLIT_K > 1 || kP.TAIL != 0) {
    if (!add_shares<kP>(own, args, piece)) return;
  }
  store_tile<kP>(own, args, origin, place, buffer);
}

}  // namespace gemm_tune::warp_tiled

#ifdef TUNED_REDUCE
#include "kernel_templates/warp_tiled/reduce.cuh"
#endif
