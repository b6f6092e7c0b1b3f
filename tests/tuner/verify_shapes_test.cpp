#include <gtest/gtest.h>

#include "tuner/verify.h"

namespace gemm_tune {
namespace {

KnownConfig config(const char* text) { return check_config(parse_config(text)); }

TEST(VerifyShapesTest, APackedProblemIsTimedPacked) {
  EXPECT_EQ(shape_of(packed_problem(1000, 1004, 1008)),
            (Shape{1000, 1004, 1008, 1008, 1004, 1004}));
}

TEST(VerifyShapesTest, AMisalignedClassGetsLeadingDimensionsOfThatClass) {
  Problem problem = packed_problem(64, 64, 64);
  problem.alignment = 1;
  const Shape one = shape_of(problem);
  EXPECT_EQ(alignment_class(one.lda, one.ldb, one.ldc), 1);
  problem.alignment = 2;
  const Shape two = shape_of(problem);
  EXPECT_EQ(alignment_class(two.lda, two.ldb, two.ldc), 2);
  EXPECT_GE(two.lda, 64);
}

TEST(VerifyShapesTest, EveryShapeIsLegalForItsConfig) {
  for (const KernelFamily& family : families()) {
    for (const char* text :
         {"naive/BM=16,BN=16,COALESCED=1,PRED=0", "naive/BM=16,BN=16,COALESCED=1,PRED=1",
          "vectorized_2d/BM=64,BN=32,BK=16,TM=4,TN=4,VEC=4,PAD=0,INTERLEAVE=0,PRED=0",
          "vectorized_2d/BM=64,BN=32,BK=16,TM=4,TN=4,VEC=2,PAD=0,INTERLEAVE=0,PRED=1"}) {
      const KnownConfig known = config(text);
      if (known.family != &family) continue;
      for (const Shape& shape : small_verification_shapes(known)) {
        Problem problem = packed_problem(shape.M, shape.N, shape.K);
        problem.alignment = alignment_class(shape.lda, shape.ldb, shape.ldc);
        EXPECT_EQ(why_illegal(known.recipe, problem), std::nullopt) << text;
        EXPECT_GT(shape.lda, shape.K);  // gaps between rows
        EXPECT_GT(shape.ldb, shape.N);
        EXPECT_GT(shape.ldc, shape.N);
      }
    }
  }
}

TEST(VerifyShapesTest, APredicatedConfigIsCheckedWhereNoEdgeFits) {
  const KnownConfig known =
      config("vectorized_2d/BM=64,BN=32,BK=16,TM=4,TN=4,VEC=4,PAD=0,INTERLEAVE=0,PRED=1");
  const std::vector<Shape> shapes = small_verification_shapes(known);
  ASSERT_EQ(shapes.size(), 3u);
  EXPECT_EQ(shapes[2].M, 67);
  EXPECT_EQ(shapes[2].N, 63);
  EXPECT_EQ(shapes[2].K, 49);
}

}  // namespace
}  // namespace gemm_tune
