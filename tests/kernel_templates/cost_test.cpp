// SPDX-License-Identifier: Apache-2.0
#include "kernel_templates/cost.h"

#include <gtest/gtest.h>

namespace gemm_tune {
namespace {

template <class Word>
WarpWords lanes(Word word) {
  WarpWords words;
  for (std::size_t lane = 0; lane < 32; ++lane) words[lane] = word(static_cast<long long>(lane));
  return words;
}

TEST(SharedWavefronts, NeighboursNeedOne) {
  EXPECT_EQ(shared_load_wavefronts(lanes([](long long lane) { return lane; }), 1), 1);
}

TEST(SharedWavefronts, ABroadcastNeedsOne) {
  EXPECT_EQ(shared_load_wavefronts(lanes([](long long) { return 7LL; }), 1), 1);
}

TEST(SharedWavefronts, AStrideOfTwoWordsIsATwoWayConflict) {
  EXPECT_EQ(shared_load_wavefronts(lanes([](long long lane) { return 2 * lane; }), 1), 2);
}

TEST(SharedWavefronts, AStrideOf32WordsIsA32WayConflict) {
  EXPECT_EQ(shared_load_wavefronts(lanes([](long long lane) { return 32 * lane; }), 1), 32);
}

TEST(SharedWavefronts, AStrideOf33WordsIsFree) {
  EXPECT_EQ(shared_store_wavefronts(lanes([](long long lane) { return 33 * lane; }), 1), 1);
}

TEST(SharedWavefronts, Neighbouring64BitAccessesNeedOnePerHalfWarp) {
  EXPECT_EQ(shared_load_wavefronts(lanes([](long long lane) { return 2 * lane; }), 2), 2);
}

TEST(SharedWavefronts, Neighbouring128BitAccessesNeedOnePerQuarterWarp) {
  EXPECT_EQ(shared_load_wavefronts(lanes([](long long lane) { return 4 * lane; }), 4), 4);
  EXPECT_EQ(shared_store_wavefronts(lanes([](long long lane) { return 4 * lane; }), 4), 4);
}

TEST(SharedWavefronts, A128BitStrideOfEightWordsIsATwoWayConflict) {
  EXPECT_EQ(shared_load_wavefronts(lanes([](long long lane) { return 8 * lane; }), 4), 8);
}

TEST(SharedWavefronts, A128BitBroadcastTakesHalfThePasses) {
  EXPECT_EQ(shared_load_wavefronts(lanes([](long long) { return 0LL; }), 4), 2);
  EXPECT_EQ(shared_load_wavefronts(lanes([](long long lane) { return lane / 16 * 8; }), 4), 2);
  EXPECT_EQ(shared_load_wavefronts(lanes([](long long lane) { return lane / 2 * 4; }), 4), 2);
}

TEST(SharedWavefronts, StoresAreNotMerged) {
  EXPECT_EQ(shared_store_wavefronts(lanes([](long long lane) { return lane / 2 * 4; }), 4), 4);
}

TEST(SharedWavefronts, InactiveLanesCostNothing) {
  WarpWords words = lanes([](long long lane) { return 32 * lane; });
  for (std::size_t lane = 8; lane < 32; ++lane) words[lane].reset();
  EXPECT_EQ(shared_load_wavefronts(words, 1), 8);
}

TEST(GlobalWavefronts, CountsLines) {
  EXPECT_EQ(global_wavefronts(lanes([](long long lane) { return lane; }), 1), 1);
  EXPECT_EQ(global_wavefronts(lanes([](long long lane) { return 1000 * lane; }), 1), 32);
  EXPECT_EQ(global_wavefronts(lanes([](long long) { return 5LL; }), 1), 1);
}

TEST(GlobalWavefronts, OfWideAccessesAreNoFewerThanTheirBytesNeed) {
  EXPECT_EQ(global_wavefronts(lanes([](long long lane) { return 4 * lane; }), 4), 4);
}

// 128 rows of 8 floats, 256 threads, 128-bit loads: a warp covers 16 rows, its two columns of
// vectors lie four rows of 128 words apart in shared memory.
TEST(TileCopyCost, TransposedStoresConflictWithoutPadding) {
  const AccessCost cost = tile_copy_cost(128, 8, 256, 4, TileOrder::transposed, 128);
  EXPECT_EQ(cost.instructions, 1 + 4);
  EXPECT_EQ(cost.wavefronts, 16 + 4 * 2);
}

TEST(TileCopyCost, PaddingByFourFreesTransposedStores) {
  const AccessCost cost = tile_copy_cost(128, 8, 256, 4, TileOrder::transposed, 132);
  EXPECT_EQ(cost.wavefronts, 16 + 4 * 1);
}

TEST(TileCopyCost, RowsArePassedOnAsWholeVectors) {
  const AccessCost cost = tile_copy_cost(8, 128, 256, 4, TileOrder::row_major, 128);
  EXPECT_EQ(cost.instructions, 1 + 1);
  EXPECT_EQ(cost.wavefronts, 4 + 4);
}

TEST(TileCopyCost, OddPaddingSplitsTheStores) {
  const AccessCost cost = tile_copy_cost(8, 128, 256, 4, TileOrder::row_major, 129);
  EXPECT_EQ(cost.instructions, 1 + 4);
  EXPECT_EQ(cost.wavefronts, 4 + 4 * 4);  // lanes are four words apart
}

TEST(TileCopyCost, HalfTheWarpsDoHalfTheWorkEach) {
  const AccessCost cost = tile_copy_cost(8, 16, 256, 1, TileOrder::row_major, 16);
  EXPECT_EQ(cost.instructions, 0.5 * 2);
}

}  // namespace
}  // namespace gemm_tune
