// SPDX-License-Identifier: Apache-2.0
#include "kernel_templates/traits.h"

#include <gtest/gtest.h>

#include "tests/kernel_templates/spaces.h"

namespace gemm_tune {
namespace {

Traits vectorized(int vec, int pad, int interleave) {
  return known("vectorized_2d/BM=128,BN=128,BK=8,TM=8,TN=8,VEC=" + std::to_string(vec) + ",PAD=" +
               std::to_string(pad) + ",INTERLEAVE=" + std::to_string(interleave) + ",PRED=0")
      .traits;
}

TEST(Traits, UncoalescedLanesTouchALineEach) {
  const Traits t = known("naive/BM=32,BN=32,COALESCED=0,PRED=1").traits;
  EXPECT_EQ(t.feed_instructions_per_k, 2);
  EXPECT_EQ(t.feed_wavefronts_per_k, 32 + 1);
}

TEST(Traits, CoalescedLanesShareLines) {
  EXPECT_EQ(known("naive/BM=32,BN=32,COALESCED=1,PRED=1").traits.feed_wavefronts_per_k, 2);
  EXPECT_EQ(known("naive/BM=8,BN=8,COALESCED=1,PRED=1").traits.feed_wavefronts_per_k, 4 + 1);
}

TEST(Traits, UnrollingMergesLoadsOfA) {
  const Traits rolled = known("smem_tiled/BM=16,BN=32,BK=16,UNROLL=0,PRED=0").traits;
  const Traits unrolled = known("smem_tiled/BM=16,BN=32,BK=16,UNROLL=1,PRED=0").traits;
  EXPECT_EQ(rolled.feed_instructions_per_k, 2);
  EXPECT_EQ(unrolled.feed_instructions_per_k, 1.25);
  EXPECT_GT(rolled.other_instructions_per_k, unrolled.other_instructions_per_k);
}

// A warp holds two rows of threads: four 128-bit loads a k step, those of A broadcast (two
// wavefronts each), those of B eight words apart and so in two-way conflict (eight each).
TEST(Traits, NeighbouringThreadTilesConflict) {
  const Traits t = vectorized(4, 0, 0);
  EXPECT_EQ(t.feed_instructions_per_k, 4);
  EXPECT_EQ(t.feed_wavefronts_per_k, 2 * 2 + 2 * 8);
}

TEST(Traits, InterleavingFreesTheLoadsOfFragments) {
  EXPECT_EQ(vectorized(4, 0, 1).feed_wavefronts_per_k, 2 * 2 + 2 * 4);
}

TEST(Traits, WideLoadsFillWithFewerInstructions) {
  EXPECT_EQ(vectorized(4, 4, 1).fill_instructions_per_tile_k, 2 + 4 + 1);
  EXPECT_EQ(vectorized(1, 4, 1).fill_instructions_per_tile_k, 16);
}

// Four copies of a float for each thread and operand, in 32 passes each or along a line in three. A
// with accesses of 16 bytes takes one, in eight passes.
TEST(Traits, CopiesAlongLinesByCpAsyncTakeThreePasses) {
  const auto fill_wavefronts = [](const std::string& later) {
    return known(
               "warp_tiled/CLUSTER=0,BM=64,BN=64,BK=8,WM=32,WN=32,TM=8,TN=4,WARPS_K=1,STAGES=3,"
               "ASYNC=1,FRAGMENTS=2,VEC=1,RASTER=8,CTAS=1,SPLIT_K=1,TAIL=0,TA=1,TB=0,PRED=1" +
               later)
        .traits.fill_wavefronts_per_tile_k;
  };
  EXPECT_EQ(fill_wavefronts(""), 2 * 4 * 32);
  EXPECT_EQ(fill_wavefronts(",LINES=1"), 2 * 4 * 3);
  EXPECT_EQ(fill_wavefronts(",LINES=1,VECS=411"), 8 + 4 * 3);
}

TEST(Traits, PredicatesCostInstructions) {
  const Traits plain = known("tiled_2d/BM=64,BN=64,BK=8,TM=4,TN=4,PRED=0").traits;
  const Traits predicated = known("tiled_2d/BM=64,BN=64,BK=8,TM=4,TN=4,PRED=1").traits;
  EXPECT_GT(predicated.other_instructions_per_k, plain.other_instructions_per_k);
}

}  // namespace
}  // namespace gemm_tune
