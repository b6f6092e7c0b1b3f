// SPDX-License-Identifier: Apache-2.0
#include "core/problem.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "core/error.h"

namespace gemm_tune {
namespace {

using testing::HasSubstr;

TEST(ProblemTest, PackedProblemTakesItsAlignmentFromKAndN) {
  EXPECT_EQ(packed_problem(7, 1024, 512).alignment, 4);
  EXPECT_EQ(packed_problem(1024, 1026, 512).alignment, 2);
  EXPECT_EQ(packed_problem(1024, 1024, 6).alignment, 2);
  EXPECT_EQ(packed_problem(1024, 1025, 1024).alignment, 1);
  EXPECT_EQ(packed_problem(1024, 1024, 67).alignment, 1);
}

TEST(ProblemTest, AlignmentClassDividesEveryLeadingDimension) {
  EXPECT_EQ(alignment_class(4, 8, 12), 4);
  EXPECT_EQ(alignment_class(4, 8, 6), 2);
  EXPECT_EQ(alignment_class(4, 8, 7), 1);
}

TEST(ProblemTest, CountsTwoOperationsPerMultiplyAdd) {
  EXPECT_EQ(flops(packed_problem(2, 3, 5)), 60.0);
  EXPECT_EQ(flops(packed_problem(2, 3, 0)), 0.0);
  EXPECT_EQ(flops(packed_problem(2'000'000'000, 2'000'000'000, 2)), 1.6e19);
}

TEST(ProblemTest, TextIsTheShapeWherePacked) {
  EXPECT_EQ(to_string(packed_problem(1024, 512, 256)), "1024x512x256");
}

TEST(ProblemTest, TextNamesWhatDiffersFromPacked) {
  Problem problem = packed_problem(1024, 512, 256);
  problem.alignment = 1;
  EXPECT_EQ(to_string(problem), "1024x512x256:align=1");
  problem.batch = 8;
  EXPECT_EQ(to_string(problem), "1024x512x256:align=1:batch=8");
}

TEST(ProblemTest, ParsingInvertsToString) {
  for (const char* text :
       {"1x1x0", "1024x512x256", "1023x1025x1021", "7x9x11:align=4", "1024x512x256:align=1",
        "16x16x16:batch=3", "16x16x16:align=2:batch=3", "2000000000x1x2000000000"}) {
    EXPECT_EQ(to_string(parse_problem(text)), text);
  }
}

TEST(ProblemTest, ParsingDropsAnAlignmentThatPackedHasAnyway) {
  EXPECT_EQ(parse_problem("8x8x8:align=4"), packed_problem(8, 8, 8));
}

TEST(ProblemTest, RejectsMalformedTextByName) {
  for (const std::string text : {"",
                                 "abc",
                                 "1024",
                                 "1024x",
                                 "1024x512",
                                 "1024x512x",
                                 "0x1x1",
                                 "1x0x1",
                                 "1x1x-1",
                                 "-5x1x1",
                                 "2000000001x1x1",
                                 "99999999999999999999x1x1",
                                 "1x1x1 ",
                                 " 1x1x1",
                                 "1x1x1x1",
                                 "1X1X1",
                                 "1x1x1:align=3",
                                 "1x1x1:align=",
                                 "1x1x1:batch=0",
                                 "1x1x1:batch=2:align=1",
                                 "1.5x1x1"}) {
    try {
      parse_problem(text);
      ADD_FAILURE() << "accepted '" << text << "'";
    } catch (const UsageError& error) {
      EXPECT_THAT(error.what(), HasSubstr("'" + text + "' is not a problem"));
      EXPECT_THAT(error.what(), HasSubstr("1024x512x256"));
    }
  }
}

}  // namespace
}  // namespace gemm_tune
