// SPDX-License-Identifier: Apache-2.0
#include "kernel_templates/ladder.h"

namespace gemm_tune {
namespace {

constexpr Rung kRungs[] = {
    {"naive, uncoalesced", "naive/BM=32,BN=32,COALESCED=0,PRED=0",
     "neighbouring threads walk down a column: each lane touches a line of its own"},
    {"naive, coalesced", "naive/BM=32,BN=32,COALESCED=1,PRED=0",
     "neighbouring threads walk along a row: a warp's accesses share lines"},
    {"shared memory 16x16", "smem_tiled/BM=16,BN=16,BK=16,UNROLL=0,PRED=0",
     "global traffic falls 16-fold; two shared loads and the loop remain per FFMA"},
    {"shared memory 16x16, unrolled", "smem_tiled/BM=16,BN=16,BK=16,UNROLL=1,PRED=0",
     "unrolling removes the loop's own instructions and merges loads of A"},
    {"shared memory 32x32, unrolled", "smem_tiled/BM=32,BN=32,BK=32,UNROLL=1,PRED=0",
     "a tile twice as wide halves global traffic once more"},
    {"1D coarsened", "coarsened_1d/BM=64,BN=64,BK=8,TM=8,PRED=0",
     "a value of B in a register serves eight FFMAs"},
    {"2x2 coarsened", "tiled_2d/BM=32,BN=32,BK=16,TM=2,TN=2,PRED=0",
     "two values of A and two of B serve four FFMAs"},
    {"2D tile 8x8", "tiled_2d/BM=128,BN=128,BK=8,TM=8,TN=8,PRED=0",
     "16 values serve 64 FFMAs; registers begin to limit occupancy"},
    {"vectorised, bounds-checked",
     "vectorized_2d/BM=128,BN=128,BK=8,TM=8,TN=8,VEC=4,PAD=0,INTERLEAVE=0,PRED=1",
     "128-bit accesses and A transposed, with a bounds check at every access"},
    {"vectorised", "vectorized_2d/BM=128,BN=128,BK=8,TM=8,TN=8,VEC=4,PAD=0,INTERLEAVE=0,PRED=0",
     "the same without bounds checks, for sizes that are multiples of the tile"},
    {"vectorised, padded",
     "vectorized_2d/BM=128,BN=128,BK=8,TM=8,TN=8,VEC=4,PAD=4,INTERLEAVE=0,PRED=0",
     "padded rows spread the transposed stores of A over the banks"},
    {"vectorised, padded, interleaved",
     "vectorized_2d/BM=128,BN=128,BK=8,TM=8,TN=8,VEC=4,PAD=4,INTERLEAVE=1,PRED=0",
     "a warp's loads of fragments touch neighbouring banks: no conflicts are left"},
    {"warp tiles",
     "warp_tiled/CLUSTER=0,BM=128,BN=128,BK=8,WM=32,WN=64,TM=8,TN=8,"
     "WARPS_K=1,STAGES=1,ASYNC=0,FRAGMENTS=1,VEC=4,RASTER=1,CTAS=1,SPLIT_K=1,TAIL=0,TA=0,TB=0,PRED="
     "0",
     "a warp's lanes lie 4 x 8: each load of a fragment takes the fewest passes"},
    {"warp tiles, 8x16 a thread",
     "warp_tiled/CLUSTER=0,BM=128,BN=256,BK=8,WM=32,WN=128,TM=8,TN=16,"
     "WARPS_K=1,STAGES=1,ASYNC=0,FRAGMENTS=1,VEC=4,RASTER=1,CTAS=1,SPLIT_K=1,TAIL=0,TA=0,TB=0,PRED="
     "0",
     "24 values serve 128 FFMAs: fewer loads from shared memory for each"},
    {"two stages, cp.async for B",
     "warp_tiled/CLUSTER=0,BM=128,BN=256,BK=8,WM=32,WN=128,TM=8,TN=16,"
     "WARPS_K=1,STAGES=2,ASYNC=2,FRAGMENTS=1,VEC=4,RASTER=1,CTAS=1,SPLIT_K=1,TAIL=0,TA=0,TB=0,PRED="
     "0",
     "the next slice comes while this one is multiplied: half the barriers"},
    {"two fragments",
     "warp_tiled/CLUSTER=0,BM=128,BN=256,BK=8,WM=32,WN=128,TM=8,TN=16,"
     "WARPS_K=1,STAGES=2,ASYNC=2,FRAGMENTS=2,VEC=4,RASTER=1,CTAS=1,SPLIT_K=1,TAIL=0,TA=0,TB=0,PRED="
     "0",
     "a k step's operands are loaded while the step before is multiplied"},
    {"rows of tiles side by side",
     "warp_tiled/CLUSTER=0,BM=128,BN=256,BK=8,WM=32,WN=128,TM=8,TN=16,"
     "WARPS_K=1,STAGES=2,ASYNC=2,FRAGMENTS=2,VEC=4,RASTER=8,CTAS=1,SPLIT_K=1,TAIL=0,TA=0,TB=0,PRED="
     "0",
     "CTAs that run together share slices of A and B in the L2"},
    {"shared tail",
     "warp_tiled/CLUSTER=0,BM=128,BN=256,BK=8,WM=32,WN=128,TM=8,TN=16,"
     "WARPS_K=1,STAGES=2,ASYNC=2,FRAGMENTS=2,VEC=4,RASTER=8,CTAS=1,SPLIT_K=1,TAIL=1,TA=0,TB=0,PRED="
     "0",
     "the last wave's tiles are cut along K, so that no SM waits for the end"},
};

}  // namespace

std::span<const Rung> ladder() { return kRungs; }

}  // namespace gemm_tune
