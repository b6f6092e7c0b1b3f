// SPDX-License-Identifier: Apache-2.0
#include "kernel_templates/ladder.h"

namespace gemm_tune {
namespace {

constexpr Rung kRungs[] = {
    {"naive, uncoalesced", "naive/BM=32,BN=32,COALESCED=0,PRED=0",
     "neighbouring threads walk down a column: every lane touches a line of its own"},
    {"naive, coalesced", "naive/BM=32,BN=32,COALESCED=1,PRED=0",
     "neighbouring threads walk along a row: a warp's accesses share lines"},
    {"shared memory 16x16", "smem_tiled/BM=16,BN=16,BK=16,UNROLL=0,PRED=0",
     "global traffic falls 16-fold, but two shared loads and the loop remain per FFMA"},
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
};

}  // namespace

std::span<const Rung> ladder() { return kRungs; }

}  // namespace gemm_tune
