// SPDX-License-Identifier: Apache-2.0
#include "tuner/measure/verify_shapes.h"

#include <gtest/gtest.h>

#include "core/launch/launch_plan.h"
#include "tests/kernel_templates/spaces.h"
#include "tuner/measure/verify.h"

namespace gemm_tune {
namespace {

TEST(VerifyShapesTest, APackedProblemIsTimedPacked) {
  const GemmCall shape = shape_of(packed_problem(1000, 1004, 1008));
  EXPECT_EQ(shape, packed_call(packed_problem(1000, 1004, 1008)));
  EXPECT_EQ(shape.lda, 1008);
  EXPECT_EQ(shape.ldb, 1004);
  EXPECT_EQ(shape.ldc, 1004);
}

TEST(VerifyShapesTest, RandomOperandsAreTheSameInEveryRunAndWholeNumbersAreTheRunsOwn) {
  EXPECT_EQ(seed_of_operands(7, 0), seed_of_operands(8, 0));
  EXPECT_EQ(seed_of_operands(7, 16), 7u);
  EXPECT_EQ(seed_of_operands(8, 16), 8u);
}

TEST(VerifyShapesTest, AMisalignedClassGetsLeadingDimensionsOfThatClass) {
  Problem problem = packed_problem(64, 64, 64);
  problem = in_class(problem, 1);
  const GemmCall one = shape_of(problem);
  EXPECT_EQ(alignment_class(problem_of(one)), 1);
  problem = in_class(problem, 2);
  const GemmCall two = shape_of(problem);
  EXPECT_EQ(alignment_class(problem_of(two)), 2);
  EXPECT_GE(two.lda, 64);
}

TEST(VerifyShapesTest, TransposedOperandsAreTimedAsTheyAreStored) {
  const GemmCall shape = shape_of(packed_problem(1000, 1004, 1008, Layout::tn));
  EXPECT_EQ(shape.lda, 1000);
  EXPECT_EQ(shape.ldb, 1004);
  EXPECT_EQ(matrices_a(shape).rows, 1008);
  EXPECT_EQ(matrices_a(shape).cols, 1000);
  EXPECT_EQ(matrices_b(shape).rows, 1008);
  const GemmCall other = shape_of(packed_problem(1000, 1004, 1008, Layout::nt));
  EXPECT_EQ(other.lda, 1008);
  EXPECT_EQ(other.ldb, 1008);
  EXPECT_EQ(matrices_b(other).rows, 1004);
  EXPECT_EQ(matrices_b(other).cols, 1008);
}

TEST(VerifyShapesTest, ATileOfOneRowLeavesOneRow) {
  const KnownConfig specialisation = known(
      "skinny/CLUSTER=0,BS=1,TL=4,WARPS=8,LANES_K=1,UNROLL=8,VEC=4,SPLIT_K=8,SKINNY_N=0,TA=0,TB=0,"
      "PRED=1");
  for (const GemmCall& shape : small_verification_shapes(specialisation, 132))
    EXPECT_GE(shape.problem.M, 1);
}

TEST(VerifyShapesTest, AKernelForPointersIsCheckedOnUnalignedMatricesToo) {
  const KnownConfig config = known(
      "warp_tiled/CLUSTER=0,BM=64,BN=64,BK=16,WM=32,WN=32,TM=8,TN=4,WARPS_K=1,STAGES=2,ASYNC=0,"
      "FRAGMENTS=2,VEC=4,RASTER=8,CTAS=1,SPLIT_K=1,TAIL=0,TA=0,TB=0,PRED=1,POINTERS=1");
  const std::vector<GemmCall> shapes = small_verification_shapes(config, 132);
  for (const GemmCall& shape : shapes) {
    EXPECT_EQ(why_illegal(config.recipe, shape.problem), std::nullopt);
  }
  EXPECT_EQ(shapes.back().problem.batch, 3);
  EXPECT_EQ(shapes.back().stride_a % 4, 1);
  EXPECT_EQ(shapes[shapes.size() - 2].stride_a % 4, 0);
}

TEST(VerifyShapesTest, TheMatricesOfABatchFollowOneAnother) {
  const GemmCall shape = shape_of(packed_problem(4, 8, 12, Layout::nn, 3));
  EXPECT_EQ(shape.stride_a, 48);
  EXPECT_EQ(shape.stride_b, 96);
  EXPECT_EQ(shape.stride_c, 32);
  EXPECT_EQ(matrices_b(shape).size(), 288u);
  EXPECT_EQ(matrices_c(shape).size(), 96u + 2 * 1024);
  EXPECT_EQ(to_string(problem_of(shape)), "4x8x12:batch=3");
}

TEST(VerifyShapesTest, AStrideLowersTheAlignmentClass) {
  GemmCall shape = shape_of(packed_problem(4, 8, 12, Layout::nt, 3));
  EXPECT_EQ(alignment_class(problem_of(shape)), 4);
  shape.stride_b += 2;
  EXPECT_EQ(alignment_class(problem_of(shape)), 2);
}

TEST(VerifyShapesTest, OperandsAreAsAlignedAsTheirOwnAccessesNeed) {
  const KnownConfig config = known(
      "warp_tiled/CLUSTER=0,BM=64,BN=64,BK=16,WM=32,WN=32,TM=8,TN=4,WARPS_K=1,STAGES=2,ASYNC=0,"
      "FRAGMENTS=2,VEC=1,RASTER=8,CTAS=1,SPLIT_K=1,TAIL=0,TA=0,TB=0,PRED=1,LINES=1,VECS=421");
  bool is_b_least = false, is_c_least = false;
  for (const GemmCall& shape : small_verification_shapes(config, 132)) {
    EXPECT_EQ(why_illegal(config.recipe, problem_of(shape)), std::nullopt);
    is_b_least = is_b_least || alignments(problem_of(shape)).b == 2;
    is_c_least = is_c_least || alignments(problem_of(shape)).cd == 1;
  }
  EXPECT_TRUE(is_b_least);
  EXPECT_TRUE(is_c_least);
}

TEST(VerifyShapesTest, EveryShapeIsLegalForItsConfig) {
  for (
      const char* text :
      {"naive/BM=16,BN=16,COALESCED=1,PRED=0", "naive/BM=16,BN=16,COALESCED=1,PRED=1",
       "vectorized_2d/BM=64,BN=32,BK=16,TM=4,TN=4,VEC=4,PAD=0,INTERLEAVE=0,PRED=0",
       "vectorized_2d/BM=64,BN=32,BK=16,TM=4,TN=4,VEC=2,PAD=0,INTERLEAVE=0,PRED=1",
       "skinny/CLUSTER=0,BS=4,TL=4,WARPS=4,LANES_K=1,UNROLL=4,VEC=4,SPLIT_K=2,SKINNY_N=0,TA=0,TB=0,"
       "PRED=1",
       "skinny/CLUSTER=0,BS=8,TL=4,WARPS=4,LANES_K=1,UNROLL=8,VEC=2,SPLIT_K=1,SKINNY_N=1,TA=1,TB=1,"
       "PRED=1",
       "skinny/CLUSTER=0,BS=4,TL=2,WARPS=4,LANES_K=8,UNROLL=2,VEC=4,SPLIT_K=8,SKINNY_N=1,TA=0,TB=1,"
       "PRED=0"}) {
    const KnownConfig config = known(text);
    for (const GemmCall& shape : small_verification_shapes(config, 132)) {
      EXPECT_EQ(why_illegal(config.recipe, problem_of(shape)), std::nullopt) << text;
      EXPECT_GT(shape.lda, matrices_a(shape).cols);  // gaps between rows
      EXPECT_GT(shape.ldb, matrices_b(shape).cols);
      EXPECT_GT(shape.ldc, shape.problem.N);
    }
  }
}

TEST(VerifyShapesTest, APredicatedConfigIsCheckedWhereNoEdgeFits) {
  const KnownConfig config =
      known("vectorized_2d/BM=64,BN=32,BK=16,TM=4,TN=4,VEC=4,PAD=0,INTERLEAVE=0,PRED=1");
  const std::vector<GemmCall> shapes = small_verification_shapes(config, 132);
  ASSERT_EQ(shapes.size(), 4u);
  EXPECT_EQ(shapes[2].problem.M, 67);
  EXPECT_EQ(shapes[2].problem.N, 63);
  EXPECT_EQ(shapes[2].problem.K, 49);
  EXPECT_EQ(to_string(problem_of(shapes[3])), "63x63x47:align=16:batch=3");
}

// A config of the given traits, which need no kernel here.
KnownConfig config_of(const Traits& traits) {
  KnownConfig known;
  known.traits = traits;
  known.recipe = launch_recipe(traits);
  return known;
}

TEST(VerifyShapesTest, ABatchHasGapsBetweenItsMatrices) {
  Traits traits;
  traits.tile_m = 64;
  traits.tile_n = 32;
  traits.tile_k = 16;
  traits.vec = 2;
  traits.transposed_a = traits.transposed_b = true;
  const GemmCall batch = small_verification_shapes(config_of(traits), 132).back();
  EXPECT_EQ(batch.problem.layout, Layout::tt);
  EXPECT_EQ(batch.problem.batch, 3);
  EXPECT_EQ(batch.problem.M, 64);
  EXPECT_EQ(batch.problem.N, 64);
  EXPECT_EQ(batch.problem.K, 48);
  EXPECT_EQ(batch.lda, 66);  // A is stored [48,64], B [64,48]
  EXPECT_EQ(batch.ldb, 54);
  EXPECT_EQ(batch.ldc, 66);
  EXPECT_EQ(batch.stride_a, 48 * 66 + 2);
  EXPECT_EQ(batch.stride_b, 64 * 54 + 6);
  EXPECT_EQ(batch.stride_c, 64 * 66 + 10);
  EXPECT_EQ(alignment_class(problem_of(batch)), 2);
}

// 8 elements an access are 16 bytes of A and B; 4 are 16 bytes of an fp32 D.
TEST(VerifyShapesTest, OperandsOf16BitsAreAsAlignedAsTheirAccesses) {
  Traits traits;
  traits.tile_m = 64;
  traits.tile_n = 32;
  traits.tile_k = 16;
  for (const ElementType d : {ElementType::f32, ElementType::f16, ElementType::bf16}) {
    traits.signature = signature_of(d == ElementType::f32 ? ElementType::f16 : d, d);
    for (const int vec : {1, 2, 4, 8}) {
      traits.vec = vec;
      const KnownConfig config = config_of(traits);
      for (const GemmCall& shape : small_verification_shapes(config, 132)) {
        EXPECT_EQ(shape.problem.signature, traits.signature);
        EXPECT_EQ(shape.problem.alignment, uniform_alignment(traits.signature, vec))
            << to_string(shape.problem);
        EXPECT_EQ(why_illegal(config.recipe, shape.problem), std::nullopt)
            << to_string(shape.problem);
        EXPECT_EQ(matrices_c(shape).bytes(),
                  matrices_c(shape).size() * static_cast<std::size_t>(bytes_of(d)));
        EXPECT_GT(shape.ldc, shape.problem.N);
      }
    }
  }
}

TEST(VerifyShapesTest, TilesThatAreCutHavePartsThatDiffer) {
  const KnownConfig config = check_config(
      parse_config("wgmma/AB=2,CD=2,BM=128,BN=128,GROUPS=2,PINGPONG=0,REDUCE=1,TA=0,TB=0"));
  const GemmCall shape = small_verification_shapes(config, 132).front();
  EXPECT_EQ(config.plan(shape.problem, 132).steps.size(), 2U);
  EXPECT_EQ(shape.problem.K, 9 * 64);  // in four parts
}

TEST(VerifyShapesTest, SharesOfATileAllGetSlicesAndNotEquallyMany) {
  Traits traits;
  traits.tile_m = traits.tile_n = 64;
  traits.tile_k = 8;
  traits.split_k = 16;
  EXPECT_EQ(small_verification_shapes(config_of(traits), 132)[0].problem.K, 33 * 8);
  EXPECT_EQ(small_verification_shapes(config_of(traits), 132)[1].problem.K, 33 * 8);  // the batch
  traits.split_k = 1;
  traits.tail_ctas_per_sm = 2;
  // 4 tiles of 165 slices for 264 CTAs.
  EXPECT_EQ(small_verification_shapes(config_of(traits), 132)[0].problem.K, 165 * 8);
  traits.predicated = true;
  EXPECT_EQ(small_verification_shapes(config_of(traits), 132)[2].problem.K, 165 * 8 + 1);
}

}  // namespace
}  // namespace gemm_tune
