// SPDX-License-Identifier: Apache-2.0
#include "core/launch/launch_recipe.h"

#include "tests/matchers.h"

namespace gemm_tune {
namespace {

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
  EXPECT_THAT(why_illegal(recipe, problem), Optional(HasSubstr("shared tiles")));
  recipe.cluster_blocks = 8;
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
            "a kernel that cuts tiles of the last wave takes no batches");
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

TEST(LaunchRecipeTest, TilesOfAllMatricesFitAGridsX) {
  LaunchRecipe recipe = predicated();
  recipe.tile_m = recipe.tile_n = 1;
  const auto why = [&](std::int64_t rows, std::int64_t batch) {
    return why_illegal(recipe, packed_problem(rows, 1, 1, Layout::nn, batch));
  };
  EXPECT_EQ(why(2'147'483'647, 1), std::nullopt);
  EXPECT_EQ(why(32'768, 65'535), std::nullopt);
  EXPECT_EQ(why(32'769, 65'535), "the grid would exceed 2^31 - 1 CTAs");
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
  EXPECT_THAT(why_illegal(whole_tiles(), packed_problem(192, 64, 8)),
              Optional(HasSubstr("M = 192 is not a multiple of 128")));
  EXPECT_THAT(why_illegal(whole_tiles(), packed_problem(128, 96, 8)),
              Optional(HasSubstr("N = 96 is not a multiple of 64")));
  EXPECT_THAT(why_illegal(whole_tiles(), packed_problem(128, 64, 12)),
              Optional(HasSubstr("K = 12 is not a multiple of 8")));
}

TEST(LaunchRecipeTest, VectorAccessNeedsItsAlignmentClass) {
  Problem problem = packed_problem(128, 64, 8);
  problem = in_class(problem, 2);
  EXPECT_THAT(why_illegal(whole_tiles(), problem),
              Optional(HasSubstr("need align=16; the problem has align=8")));
}

TEST(LaunchRecipeTest, AlignmentsOfOperandsAreComparedOneByOne) {
  LaunchRecipe recipe = predicated();
  recipe.alignment = recipe.alignment_a = 4;
  recipe.alignment_b = 2;
  recipe.alignment_cd = 1;
  EXPECT_EQ(why_illegal(recipe, parse_problem("64x62x64:align=16/8/4/4")), std::nullopt);
  EXPECT_EQ(why_illegal(recipe, parse_problem("64x62x64:align=16")), std::nullopt);
  EXPECT_THAT(why_illegal(recipe, parse_problem("64x62x64:align=8/8/4/4")),
              Optional(AllOf(HasSubstr("align=16/8/4/4;"), HasSubstr("has align=8/8/4/4"))));
  EXPECT_NE(why_illegal(recipe, parse_problem("64x62x64:align=16/4/16/16")), std::nullopt);
  recipe.alignment_cd = 2;
  EXPECT_NE(why_illegal(recipe, parse_problem("64x62x64:align=16/8/4/4")), std::nullopt);
  // Where only the least alignment is known, it must do for all.
  EXPECT_EQ(refusal(recipe, LaunchProblem{64, 62, 64, 2}), Refusal::alignment);
  EXPECT_EQ(refusal(recipe, LaunchProblem{64, 62, 64, 4}), Refusal::none);
}

TEST(LaunchRecipeTest, AKernelServesItsOwnAccuracyClassAndThatOfTheTypesServesAll) {
  LaunchRecipe recipe = predicated();
  const auto why = [&](const char* types) {
    return why_illegal(recipe, parse_problem("64x64x64:type=" + std::string(types)));
  };
  for (const char* any : {"f32", "f32+tf32", "f32+fp32_f16x3"}) {
    EXPECT_EQ(why(any), std::nullopt) << any;
  }
  recipe.accuracy = Accuracy::tf32;
  EXPECT_EQ(why("f32+tf32"), std::nullopt);
  EXPECT_EQ(why("f32"), "the kernel is of the accuracy class tf32; the problem asks for fp32");
  EXPECT_THAT(why("f32+fp32_f16x3"), Optional(HasSubstr("asks for fp32_f16x3")));
  EXPECT_EQ(why("bf16"), "the kernel is for f32+tf32; the problem has bf16");
  // A problem that does not tell its class has that of its types.
  constexpr ElementType kF16 = ElementType::f16;
  constexpr LaunchProblem kPlain = {64, 64, 64, 8, Layout::nn, 1, kF16, kF16, kF16};
  static_assert(kPlain.accuracy == Accuracy::sums_fp32);
  recipe.type_a = recipe.type_b = recipe.type_cd = kF16;
  recipe.accuracy = Accuracy::sums_fp16;
  EXPECT_EQ(refusal(recipe, kPlain), Refusal::accuracy);
}

TEST(LaunchRecipeTest, RefusesABatchBeyondTheLaunchLimit) {
  Problem problem = packed_problem(128, 64, 8);
  problem.batch = 70000;
  EXPECT_THAT(why_illegal(whole_tiles(), problem), Optional(HasSubstr("65535")));
}

TEST(LaunchRecipeTest, AKernelServesOneKindOfBatch) {
  LaunchRecipe recipe = predicated();
  EXPECT_THAT(why_illegal(recipe, parse_problem("64x64x64:batch=2:pointers")),
              Optional(HasSubstr("of the kind strided; the problem's is pointers")));
  recipe.batch_kind = BatchKind::pointers;
  EXPECT_EQ(why_illegal(recipe, parse_problem("64x64x64:batch=2:pointers")), std::nullopt);
  EXPECT_NE(why_illegal(recipe, parse_problem("64x64x64")), std::nullopt);
  EXPECT_THAT(why_illegal(recipe, parse_problem("64x64x64:groups")),
              Optional(HasSubstr("the problem's is groups")));
}

TEST(LaunchRecipeTest, RefusesAGridBeyondTheLaunchLimit) {
  LaunchRecipe recipe = predicated();
  recipe.tile_m = recipe.tile_n = 16;
  EXPECT_EQ(why_illegal(recipe, packed_problem(524'288, 1'048'560, 1)), std::nullopt);
  EXPECT_THAT(why_illegal(recipe, packed_problem(524'288, 1'048'576, 1)),
              Optional(HasSubstr("2^31 - 1 CTAs")));
}

// Vectors of four along the rows of A, in slices of 8.
LaunchRecipe repacking() {
  LaunchRecipe recipe = predicated();
  recipe.tile_k = 8;
  recipe.alignment = recipe.multiple_k = 4;
  recipe.repack = true;
  return recipe;
}

TEST(LaunchRecipeTest, RepackCopiesAnUnalignedOperand) {
  // Rows of A of 1002 elements begin at multiples of 8 bytes; K is no multiple of 4.
  const Problem problem = packed_problem(100, 200, 1002);
  EXPECT_EQ(why_illegal(repacking(), problem), std::nullopt);
  const RepackedOperands copies = repacked_operands(repacking(), launch_problem(problem), 132);
  EXPECT_EQ(copies.k, 1004);
  EXPECT_EQ(copies.a.offset, 65536);
  EXPECT_EQ(copies.a.from_rows, 100);
  EXPECT_EQ(copies.a.from_length, 1002);
  EXPECT_EQ(copies.a.rows, 100);
  EXPECT_EQ(copies.a.ld, 1024);  // whole lines of the L2
  EXPECT_EQ(copies.b.offset, 65536 + 100 * 1024 * 4);
  EXPECT_EQ(copies.b.from_rows, 1002);
  EXPECT_EQ(copies.b.rows, 1004);  // padded along K, like A
  EXPECT_EQ(copies.b.ld, 224);
  EXPECT_EQ(workspace_bytes(repacking(), problem, 132), 65536 + 100 * 1024 * 4 + 1004 * 224 * 4);
}

TEST(LaunchRecipeTest, RepackLeavesAnAlignedOperandWhereItIs) {
  Problem problem = packed_problem(100, 200, 1000);
  EXPECT_EQ(workspace_bytes(repacking(), problem, 132), 0);
  problem.alignment.b = 4;
  const RepackedOperands copies = repacked_operands(repacking(), launch_problem(problem), 132);
  EXPECT_FALSE(copies.a.exists());
  EXPECT_EQ(copies.b.offset, 65536);
  EXPECT_EQ(copies.k, 1000);
}

TEST(LaunchRecipeTest, RowsOfCopiesAreWholeChunksOrWhereLongWholeLines) {
  const Signature bf16 = signature_of(ElementType::bf16);
  LaunchRecipe recipe = repacking();
  recipe.type_a = recipe.type_b = recipe.type_cd = ElementType::bf16;
  recipe.alignment = 8;
  recipe.multiple_k = 1;
  const Problem problem = packed_problem(64, 64, 1001, Layout::nt, 1, bf16);
  const RepackedOperands copies = repacked_operands(recipe, launch_problem(problem), 132);
  EXPECT_EQ(copies.k, 1001);
  EXPECT_EQ(copies.a.ld, 1024);
  EXPECT_EQ(copies.b.ld, 1024);
  EXPECT_EQ(copies.end, 65536 + 2 * 64 * 1024 * 2);
  EXPECT_EQ(copied_row_bytes(0), 0);
  EXPECT_EQ(copied_row_bytes(2), 16);
  EXPECT_EQ(copied_row_bytes(511), 512);
  EXPECT_EQ(copied_row_bytes(512), 512);
  EXPECT_EQ(copied_row_bytes(514), 640);
}

// D of any alignment beside copies of A and B.
TEST(LaunchRecipeTest, RepackNeedsOfCAndDTheirOwnAlignmentAlone) {
  LaunchRecipe recipe = repacking();
  recipe.multiple_k = 1;
  const Problem odd = packed_problem(101, 203, 333);
  EXPECT_NE(why_illegal(recipe, odd), std::nullopt);
  recipe.alignment_a = recipe.alignment_b = recipe.alignment;
  recipe.alignment_cd = 1;
  EXPECT_EQ(why_illegal(recipe, odd), std::nullopt);
  EXPECT_TRUE(repacked_operands(recipe, launch_problem(odd), 132).a.exists());
  EXPECT_EQ(needed_alignment(recipe, odd.signature), uniform_alignment(odd.signature, 1));
}

TEST(LaunchRecipeTest, RepackTakesNeitherABatchNorAnUnalignedResult) {
  EXPECT_EQ(why_illegal(repacking(), packed_problem(100, 200, 1001, Layout::nn, 2)),
            "a pre-pass takes no batches");
  EXPECT_THAT(why_illegal(repacking(), packed_problem(100, 202, 1001)),
              Optional(AllOf(HasSubstr("align=4/4/16/16;"), HasSubstr("has align=4/8/8/8"))));
}

// The workspace of larger copies might not fit beside the operands; that of the largest edges would
// have more bytes than 64 bits count.
TEST(LaunchRecipeTest, RepackCopiesNoHugeOperands) {
  const char* const refused = "a pre-pass copies at most 1073741824 elements";
  EXPECT_EQ(why_illegal(repacking(), packed_problem(kMaxEdge, 4, kMaxEdge - 1)), refused);
  EXPECT_EQ(why_illegal(repacking(), packed_problem(16384, 16384, 32767)), std::nullopt);
  EXPECT_EQ(why_illegal(repacking(), packed_problem(16384, 16384, 32769)), refused);
  // B alone is copied.
  Problem problem = packed_problem(kMaxEdge, 4, 1000);
  problem.alignment.b = 4;
  EXPECT_EQ(why_illegal(repacking(), problem), std::nullopt);
  // Nothing is copied.
  EXPECT_EQ(why_illegal(repacking(), packed_problem(65536, 65536, 65536)), std::nullopt);
}

// After the partial sums.
TEST(LaunchRecipeTest, CopiesLieBehindThePartialSums) {
  LaunchRecipe recipe = repacking();
  recipe.split_k = 2;
  const Problem problem = packed_problem(128, 64, 1001);
  const RepackedOperands copies = repacked_operands(recipe, launch_problem(problem), 132);
  EXPECT_EQ(copies.a.offset, 65536 + 2 * 128 * 64 * 4);
}

}  // namespace
}  // namespace gemm_tune
