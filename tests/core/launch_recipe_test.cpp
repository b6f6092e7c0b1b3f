// SPDX-License-Identifier: Apache-2.0
#include "core/launch_recipe.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace gemm_tune {
namespace {

using testing::HasSubstr;

LaunchRecipe predicated() {
  LaunchRecipe recipe;
  recipe.block_threads = 256;
  recipe.tile_m = 128;
  recipe.tile_n = 64;
  return recipe;
}

LaunchRecipe whole_tiles() {
  LaunchRecipe recipe = predicated();
  recipe.alignment = 4;
  recipe.multiple_m = 128;
  recipe.multiple_n = 64;
  recipe.multiple_k = 8;
  return recipe;
}

TEST(LaunchRecipeTest, GridCoversRaggedEdges) {
  EXPECT_EQ(grid_of(predicated(), packed_problem(128, 64, 1), 1).ctas(), 1);
  EXPECT_EQ(grid_of(predicated(), packed_problem(129, 65, 1), 1).ctas(), 4);
  EXPECT_EQ(grid_of(predicated(), packed_problem(1, 1, 1), 1).ctas(), 1);
  EXPECT_EQ(grid_of(predicated(), packed_problem(4096, 4096, 1), 1).ctas(), 32 * 64);
}

TEST(LaunchRecipeTest, AClusterSharesTilesWithoutAWorkspace) {
  LaunchRecipe recipe = predicated();
  recipe.split_k = 8;
  const Problem problem = packed_problem(128 * 64, 64 * 64, 1024);
  EXPECT_EQ(workspace_bytes(recipe, problem, 132), 65536LL + 64 * 64 * 8 * 128 * 64 * 4);
  EXPECT_EQ(why_illegal(recipe, problem), "more shared tiles than a workspace has counters for");
  recipe.cluster = true;
  EXPECT_EQ(workspace_bytes(recipe, problem, 132), 0);
  EXPECT_EQ(why_illegal(recipe, problem), std::nullopt);
  EXPECT_EQ(grid_of(recipe, problem, 132), (Grid{4096, 8, 1, 0}));
}

// 128 x 128 tiles in slices of 16, cut for one CTA on each SM.
LaunchRecipe cut_tail() {
  LaunchRecipe recipe;
  recipe.tile_m = recipe.tile_n = 128;
  recipe.tile_k = 16;
  recipe.tail_ctas_per_sm = 1;
  return recipe;
}

TEST(LaunchRecipeTest, AShortLastWaveIsCutIntoEqualPieces) {
  // 96 tiles on 84 SMs: the last 12 in 7 pieces of 5 of the 32 slices.
  const Problem problem = packed_problem(1536, 1024, 512);
  EXPECT_EQ(grid_of(cut_tail(), problem, 84), (Grid{168, 1, 1, 80}));
  EXPECT_EQ(workspace_bytes(cut_tail(), problem, 84), 65536 + 12 * 7 * 65536);
}

TEST(LaunchRecipeTest, AFullerLastWaveIsCutTogetherWithTheOneBefore) {
  // 128 tiles on 84 SMs: 28 slices of each, then 4 on the 40 SMs that are free.
  const Problem problem = packed_problem(2048, 1024, 512);
  EXPECT_EQ(grid_of(cut_tail(), problem, 84), (Grid{256, 1, 1, 448}));
  EXPECT_EQ(workspace_bytes(cut_tail(), problem, 84), 65536 + 128 * 2 * 65536);
}

TEST(LaunchRecipeTest, AWholeLastWaveIsNotCut) {
  EXPECT_EQ(grid_of(cut_tail(), packed_problem(1536, 896, 512), 84), (Grid{84, 1, 1, 0}));
  EXPECT_EQ(workspace_bytes(cut_tail(), packed_problem(1536, 896, 512), 84), 0);
}

TEST(LaunchRecipeTest, ACutTailTakesNoBatch) {
  EXPECT_EQ(why_illegal(cut_tail(), packed_problem(256, 256, 256, Layout::nn, 2)),
            "TAIL takes no batches");
}

TEST(LaunchRecipeTest, GridCountsEveryBatch) {
  Problem problem = packed_problem(129, 65, 1);
  problem.batch = 3;
  EXPECT_EQ(grid_of(predicated(), problem, 1).ctas(), 12);
}

TEST(LaunchRecipeTest, GridOfTheLargestMatrixDoesNotOverflow) {
  LaunchRecipe recipe = predicated();
  recipe.tile_m = recipe.tile_n = 1;
  EXPECT_EQ(grid_of(recipe, packed_problem(2'000'000'000, 2'000'000'000, 1), 1).ctas(),
            4'000'000'000'000'000'000);
}

TEST(LaunchRecipeTest, PredicatedRecipeIsLegalForAnyShape) {
  EXPECT_EQ(why_illegal(predicated(), packed_problem(1, 1, 0)), std::nullopt);
  EXPECT_EQ(why_illegal(predicated(), packed_problem(1023, 1025, 1021)), std::nullopt);
}

TEST(LaunchRecipeTest, WholeTilesAreLegalForTheirMultiples) {
  EXPECT_EQ(why_illegal(whole_tiles(), packed_problem(256, 64, 8)), std::nullopt);
  EXPECT_EQ(why_illegal(whole_tiles(), packed_problem(256, 64, 0)), std::nullopt);
}

TEST(LaunchRecipeTest, NamesTheEdgeThatIsNoMultiple) {
  EXPECT_THAT(why_illegal(whole_tiles(), packed_problem(192, 64, 8)).value(),
              HasSubstr("M = 192 is not a multiple of 128"));
  EXPECT_THAT(why_illegal(whole_tiles(), packed_problem(128, 96, 8)).value(),
              HasSubstr("N = 96 is not a multiple of 64"));
  EXPECT_THAT(why_illegal(whole_tiles(), packed_problem(128, 64, 12)).value(),
              HasSubstr("K = 12 is not a multiple of 8"));
}

TEST(LaunchRecipeTest, VectorAccessNeedsItsAlignmentClass) {
  Problem problem = packed_problem(128, 64, 8);
  problem = in_class(problem, 2);
  EXPECT_THAT(why_illegal(whole_tiles(), problem).value(),
              HasSubstr("need alignment class 4; the problem has 2"));
}

TEST(LaunchRecipeTest, RefusesABatchBeyondTheLaunchLimit) {
  Problem problem = packed_problem(128, 64, 8);
  problem.batch = 70000;
  EXPECT_THAT(why_illegal(whole_tiles(), problem).value(), HasSubstr("65535"));
}

TEST(LaunchRecipeTest, RefusesAGridBeyondTheLaunchLimit) {
  LaunchRecipe recipe = predicated();
  recipe.tile_m = recipe.tile_n = 16;
  EXPECT_EQ(why_illegal(recipe, packed_problem(524'288, 1'048'560, 1)), std::nullopt);
  EXPECT_THAT(why_illegal(recipe, packed_problem(524'288, 1'048'576, 1)).value(),
              HasSubstr("2^31 - 1 CTAs"));
}

}  // namespace
}  // namespace gemm_tune
