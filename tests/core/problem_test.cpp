// SPDX-License-Identifier: Apache-2.0
#include "core/problem/problem.h"

#include <string>

#include "core/error.h"
#include "core/problem/gemm_call.h"
#include "tests/matchers.h"

namespace gemm_tune {
namespace {

TEST(ProblemTest, PackedProblemTakesItsAlignmentFromKAndN) {
  EXPECT_EQ(alignment_class(packed_problem(7, 1024, 512)), 4);
  EXPECT_EQ(alignment_class(packed_problem(1024, 1026, 512)), 2);
  EXPECT_EQ(alignment_class(packed_problem(1024, 1024, 6)), 2);
  EXPECT_EQ(alignment_class(packed_problem(1024, 1025, 1024)), 1);
  EXPECT_EQ(alignment_class(packed_problem(1024, 1024, 67)), 1);
}

TEST(ProblemTest, PackedProblemKnowsTheAlignmentOfEachOperandInBytes) {
  EXPECT_EQ(packed_problem(1024, 1025, 1026).alignment, (Alignment{8, 4, 4, 4}));
  EXPECT_EQ(packed_problem(1024, 1025, 1026, Layout::tt).alignment, (Alignment{16, 8, 4, 4}));
  EXPECT_EQ(packed_problem(1024, 1024, 1024, Layout::nn, 3).alignment, (Alignment{16, 16, 16, 16}));
}

TEST(ProblemTest, AlignmentClassIsTheLeastOfTheOperandsInElements) {
  Problem problem = packed_problem(8, 8, 8);
  problem.alignment = {16, 16, 16, 8};
  EXPECT_EQ(alignment_class(problem), 2);
  problem.signature = signature_of(ElementType::f16);
  EXPECT_EQ(alignment_class(problem), 4);
}

TEST(ProblemTest, AnOperandThatTheWidestAccessReachesIsInEveryClass) {
  Problem problem = packed_problem(8, 8, 8);
  problem.signature = signature_of(ElementType::f16, ElementType::f32);
  problem.alignment = uniform_alignment(problem.signature, 8);
  EXPECT_EQ(problem.alignment, (Alignment{16, 16, 16, 16}));
  EXPECT_EQ(alignment_class(problem), 8);
  problem.alignment.d = 8;
  EXPECT_EQ(alignment_class(problem), 2);
  problem.alignment.d = 4;
  EXPECT_EQ(alignment_class(problem), 1);
  problem.alignment = {8, 16, 16, 16};
  EXPECT_EQ(alignment_class(problem), 4);
}

TEST(ProblemTest, AClassIsPackedWherePackedHasItElseOfEveryOperand) {
  const Problem packed = packed_problem(1024, 1025, 1024);
  EXPECT_EQ(in_class(packed, 1), packed);
  EXPECT_EQ(in_class(packed, 2).alignment, (Alignment{8, 8, 8, 8}));
  EXPECT_EQ(uniform_alignment({}, 1), (Alignment{4, 4, 4, 4}));
}

TEST(ProblemTest, EveryAlignmentOfOperandsIsReadBack) {
  for (const Signature& types : {Signature(), signature_of(ElementType::f16),
                                 signature_of(ElementType::bf16, ElementType::f32)}) {
    for (const int a : {4, 8, 16}) {
      for (const int b : {4, 8, 16}) {
        for (const int c : {4, 8, 16}) {
          Problem problem = packed_problem(64, 65, 66, Layout::nn, 1, types);
          problem.alignment = {a, b, c, 16};
          EXPECT_EQ(parse_problem(to_string(problem)), problem) << to_string(problem);
        }
      }
    }
  }
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
  problem = in_class(problem, 1);
  EXPECT_EQ(to_string(problem), "1024x512x256:align=4");
  problem.batch = 8;
  EXPECT_EQ(to_string(problem), "1024x512x256:align=4:batch=8");
}

TEST(ProblemTest, ParsingInvertsToString) {
  for (const char* text :
       {"1x1x0", "1024x512x256", "1023x1025x1021", "7x9x11:align=16", "1024x512x256:align=4",
        "16x16x16:batch=3", "16x16x16:align=8:batch=3", "2000000000x1x2000000000"}) {
    EXPECT_EQ(to_string(parse_problem(text)), text);
  }
}

TEST(ProblemTest, TextNamesTheAlignmentOfEachOperandWhereTheyDiffer) {
  Problem problem = packed_problem(1024, 512, 256);
  problem.alignment = {16, 16, 4, 4};
  EXPECT_EQ(to_string(problem), "1024x512x256:align=16/16/4/4");
  EXPECT_EQ(parse_problem("1024x512x256:align=16/16/4/4"), problem);
  problem.alignment.d = 8;
  EXPECT_EQ(to_string(problem), "1024x512x256:align=16/16/4/8");
  EXPECT_EQ(parse_problem("1024x512x256:align=16/16/4/8"), problem);
  EXPECT_EQ(to_string(parse_problem("8x8x8:type=bf16/bf16/f32/f32:align=4/16/16/16")),
            "8x8x8:type=bf16/bf16/f32/f32:align=4/16/16/16");
}

TEST(ProblemTest, OneAlignmentIsThatOfEveryOperand) {
  EXPECT_EQ(parse_problem("1024x1025x1024:align=4").alignment, (Alignment{4, 4, 4, 4}));
  EXPECT_EQ(parse_problem("1024x1025x1024:align=16/4/4/4"), packed_problem(1024, 1025, 1024));
  EXPECT_EQ(parse_problem("8x8x8:type=f16:align=2").alignment, (Alignment{2, 2, 2, 2}));
}

// Four elements of bf16 are 8 bytes.
TEST(ProblemTest, AnAccessHasAsManyElementsAsOneOfTheWiderOperand) {
  const Signature mixed = parse_signature("f32/bf16/f32/f32");
  EXPECT_EQ(alignment_class(packed_problem(8, 64, 128, Layout::nt, 1, mixed)), 4);
  EXPECT_EQ(alignment_class(packed_problem(8, 64, 132, Layout::nt, 1, mixed)), 4);
  EXPECT_EQ(alignment_class(packed_problem(8, 64, 130, Layout::nt, 1, mixed)), 2);
  EXPECT_EQ(alignments(packed_problem(8, 64, 132, Layout::nt, 1, mixed)).b, 4);
  EXPECT_EQ(uniform_alignment(mixed, 4), (Alignment{16, 8, 16, 16}));
}

TEST(ProblemTest, TextOfAnotherSignatureSaysSo) {
  Problem problem = packed_problem(8, 8, 8);
  problem.signature = signature_of(ElementType::bf16);
  EXPECT_EQ(to_string(problem), "8x8x8:type=bf16");
  problem.signature.c = problem.signature.d = ElementType::f32;
  problem.alignment = {16, 16, 16, 16};
  EXPECT_EQ(to_string(problem), "8x8x8:type=bf16/bf16/f32/f32");
}

// Exported headers compute the class from leading dimensions.
TEST(ProblemTest, TheClassOfLeadingDimensionsIsThatOfAPackedProblem) {
  using enum ElementType;
  for (const char* types : {"f32", "f16", "bf16/bf16/f32/f32", "f16/f16/f32/f32",
                            "f32/bf16/f32/f32", "f16/f32/f32/f32"}) {
    const Signature of = parse_signature(types);
    for (const std::int64_t n : {64, 68, 66, 65, 72}) {
      for (const std::int64_t k : {64, 68, 66, 65, 72}) {
        const Problem problem = packed_problem(64, n, k, Layout::nn, 1, of);
        EXPECT_EQ(alignment_class(k, n, n, of.a, of.b, of.d), alignment_class(problem))
            << to_string(problem);
      }
    }
  }
}

TEST(ProblemTest, AProblemOfAnotherSignatureIsReadBack) {
  const Signature bf16 = signature_of(ElementType::bf16);
  const Problem packed = packed_problem(64, 8, 12, Layout::tn, 3, bf16);
  EXPECT_EQ(to_string(packed), "64x8x12:type=bf16:layout=tn:batch=3");
  EXPECT_EQ(packed.alignment, (Alignment{16, 16, 16, 16}));
  for (const std::string text :
       {"64x8x12:type=bf16:layout=tn:batch=3", "8x8x8:type=f16/f16/f32/f32:align=16/16/8/8",
        "8x8x8:type=f16:align=8", "8x8x8:type=bf16/bf16/f32/f32"}) {
    EXPECT_EQ(to_string(parse_problem(text)), text);
  }
  EXPECT_EQ(parse_problem("64x8x12", {Layout::tn, 3, bf16}), packed);
  EXPECT_EQ(parse_problem("64x8x12:type=f32", {Layout::nn, 1, bf16}), packed_problem(64, 8, 12));
}

TEST(ProblemTest, LayoutAndBatchThatATextLeavesOutAreTheCallers) {
  EXPECT_EQ(parse_problem("8x9x10", {Layout::nt, 3}), packed_problem(8, 9, 10, Layout::nt, 3));
  EXPECT_EQ(parse_problem("8x9x10:layout=tn:batch=1", {Layout::nt, 3}),
            packed_problem(8, 9, 10, Layout::tn));
}

TEST(ProblemTest, ParsingDropsAnAlignmentThatPackedHasAnyway) {
  EXPECT_EQ(parse_problem("8x8x8:align=16"), packed_problem(8, 8, 8));
}

TEST(ProblemTest, ThePartsBehindTheSizesMayHaveAnyOrder) {
  const Problem problem = parse_problem("8x9x10:type=f16:layout=nt:align=4:batch=3");
  for (const char* text :
       {"8x9x10:batch=3:layout=nt:align=4:type=f16", "8x9x10:align=4:batch=3:type=f16:layout=nt",
        "8x9x10:layout=nt:type=f16:batch=3:align=4"}) {
    EXPECT_EQ(parse_problem(text), problem) << text;
  }
}

TEST(ProblemTest, ABatchOfPointersOrGroupsIsReadBack) {
  Problem problem = packed_problem(64, 8, 12, Layout::nt, 3);
  problem.batch_kind = BatchKind::pointers;
  EXPECT_EQ(to_string(problem), "64x8x12:layout=nt:batch=3:pointers");
  EXPECT_EQ(parse_problem("64x8x12:pointers:layout=nt:batch=3"), problem);
  EXPECT_EQ(parse_problem("64x8x12:batch=3:groups").batch_kind, BatchKind::groups);
  EXPECT_EQ(to_string(parse_problem("64x8x12:pointers")), "64x8x12:pointers");
  EXPECT_NO_THROW(parse_problem("64x8x12:pointers:epilogue=bias_column+relu"));
  EXPECT_THROW(parse_problem("64x8x12:pointers:epilogue=residual"), UsageError);
}

TEST(ProblemTest, OfABatchOfPointersLeadingDimensionsAloneAreAligned) {
  GemmCall call = packed_call(parse_problem("64x8x12:batch=3:pointers"));
  call.A = reinterpret_cast<const void*>(8);
  call.stride_a = 1;
  EXPECT_EQ(alignment_of(call), (Alignment{16, 16, 16, 16}));
  call.ldb = 10;
  EXPECT_EQ(alignment_of(call).b, 8);
}

TEST(ProblemTest, RejectsMalformedTextAndNamesThePart) {
  const std::pair<std::string, std::string> kMalformed[] = {
      {"", "'' must be MxNxK"},
      {"abc", "'abc' must be MxNxK"},
      {"1024", "'1024' must be MxNxK"},
      {"1024x", "'1024x' must be MxNxK"},
      {"1024x512", "'1024x512' must be MxNxK"},
      {"1024x512x:batch=2", "'1024x512x' must be MxNxK"},
      {"0x1x1", "'0x1x1' must be MxNxK"},
      {"1x0x1", "'1x0x1' must be MxNxK"},
      {"1x1x-1", "'1x1x-1' must be MxNxK"},
      {"-5x1x1", "'-5x1x1' must be MxNxK"},
      {"2000000001x1x1", "'2000000001x1x1' must be MxNxK"},
      {"99999999999999999999x1x1", "'99999999999999999999x1x1' must be MxNxK"},
      {"1x1x1 ", "'1x1x1 ' must be MxNxK"},
      {" 1x1x1", "' 1x1x1' must be MxNxK"},
      {"1x1x1x1", "'1x1x1x1' must be MxNxK"},
      {"1X1X1", "'1X1X1' must be MxNxK"},
      {"1.5x1x1", "'1.5x1x1' must be MxNxK"},
      {"1x1x1:", "''"},
      {"1x1x1:batch=2:", "''"},
      {"1x1x1:512:64", "'512' is none of"},
      {"1x1x1:form=nt",
       "'form=nt' is none of type=, layout=, align=, batch=, pointers, "
       "groups and epilogue="},
      {"1x1x1:batch", "'batch' is none of"},
      {"1x1x1:strided", "'strided' is none of"},
      {"1x1x1:pointers:groups", "'groups' is a second kind of batch"},
      {"1x1x1:align=3", "'align=3' must be bytes"},
      {"1x1x1:align=", "'align=' must be bytes"},
      {"1x1x1:align=2", "'align=2' must be bytes"},
      {"1x1x1:align=32", "'align=32' must be bytes"},
      {"1x1x1:type=f16/f16/f32/f32:align=2", "'align=2' must be bytes"},
      {"1x1x1:align=4/4", "'align=4/4' must be bytes"},
      {"1x1x1:align=4/4/4", "'align=4/4/4' must be bytes"},
      {"1x1x1:align=4/4/4/3", "'align=4/4/4/3' must be bytes"},
      {"1x1x1:align=4/4/4/4/", "'align=4/4/4/4/' must be bytes"},
      {"1x1x1:batch=0", "'batch=0' must be a number from 1"},
      {"1x1x1:batch=2000000001:layout=nt", "'batch=2000000001' must be a number from 1"},
      {"1x1x1:batch=2:layout=nt:batch=2", "'batch=2' is a second batch"},
  };
  for (const auto& [text, part] : kMalformed) {
    EXPECT_THAT([&text = text] { parse_problem(text); },
                ThrowsMessage<UsageError>(HasSubstr("'" + text + "' is not a problem: " + part)));
  }
}

TEST(ProblemTest, RejectsAnUnknownLayoutByName) {
  EXPECT_THAT([] { parse_problem("1x1x1:layout=ab:batch=2"); },
              ThrowsMessage<UsageError>(HasSubstr("'ab' is not a layout")));
}

TEST(ProblemTest, RejectsAnUnknownTypeByName) {
  EXPECT_THAT([] { parse_problem("1x1x1:type=f64:batch=2"); },
              ThrowsMessage<UsageError>(HasSubstr("'f64' is not a type")));
}

}  // namespace
}  // namespace gemm_tune
