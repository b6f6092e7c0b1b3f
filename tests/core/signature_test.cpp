// SPDX-License-Identifier: Apache-2.0
#include "core/signature.h"

#include <gtest/gtest.h>

#include "core/error.h"

namespace gemm_tune {
namespace {

TEST(SignatureTest, TypesKnowTheirBytes) {
  EXPECT_EQ(bytes_of(ElementType::f16), 2);
  EXPECT_EQ(bytes_of(ElementType::bf16), 2);
  EXPECT_EQ(bytes_of(ElementType::f32), 4);
  EXPECT_EQ(bytes_of(ElementType::f64), 8);
}

TEST(SignatureTest, TypesKnowTheirPrecision) {
  EXPECT_EQ(unit_roundoff(ElementType::f16), 0x1p-11);
  EXPECT_EQ(unit_roundoff(ElementType::bf16), 0x1p-8);
  EXPECT_EQ(unit_roundoff(ElementType::f32), 0x1p-24);
  EXPECT_EQ(unit_roundoff(ElementType::f64), 0x1p-53);
  EXPECT_EQ(largest_exact_integer(ElementType::f16), 2048);
  EXPECT_EQ(largest_exact_integer(ElementType::bf16), 256);
  EXPECT_EQ(largest_exact_integer(ElementType::f32), 16777216);
}

TEST(SignatureTest, IsFp32UnlessToldOtherwise) {
  EXPECT_EQ(Signature(), signature_of(ElementType::f32));
  EXPECT_EQ(Signature().accuracy, Accuracy::fp32);
}

TEST(SignatureTest, SixteenBitOperandsAreOfTheMixedClass) {
  EXPECT_EQ(signature_of(ElementType::f64).accuracy, Accuracy::fp32);
  EXPECT_EQ(signature_of(ElementType::bf16),
            (Signature{ElementType::bf16, ElementType::bf16, ElementType::bf16, ElementType::bf16,
                       Accuracy::mixed}));
  EXPECT_EQ(signature_of(ElementType::f16, ElementType::f32),
            (Signature{ElementType::f16, ElementType::f16, ElementType::f32, ElementType::f32,
                       Accuracy::mixed}));
  EXPECT_EQ(to_string(signature_of(ElementType::bf16)), "bf16");
}

TEST(SignatureTest, TextIsOneTypeWhereAllAreOne) {
  EXPECT_EQ(to_string(Signature()), "f32");
  EXPECT_EQ(to_string(signature_of(ElementType::f64)), "f64");
  EXPECT_EQ(
      to_string(Signature{ElementType::f16, ElementType::f16, ElementType::f32, ElementType::f16}),
      "f16/f16/f32/f16");
}

TEST(SignatureTest, ATextIsReadBackWhereAKernelMayHaveIt) {
  for (const std::string text : {"f32", "f16", "bf16", "f16/f16/f32/f32", "bf16/bf16/f32/f32"}) {
    EXPECT_EQ(to_string(parse_signature(text)), text);
  }
  EXPECT_EQ(parse_signature("bf16"), signature_of(ElementType::bf16));
  for (const char* text :
       {"", "f64", "fp16", "bf16/f32", "f16/f16/bf16/bf16", "f16/bf16/f32/f32"}) {
    EXPECT_THROW(parse_signature(text), UsageError) << text;
  }
}

TEST(SignatureTest, AlignmentIsAPowerOfTwoUpToTheWidestAccess) {
  EXPECT_EQ(alignment_of(0), 16);
  EXPECT_EQ(alignment_of(16 | 32 | 48), 16);
  EXPECT_EQ(alignment_of(16 | 32 | 24), 8);
  EXPECT_EQ(alignment_of(16 | 32 | 28), 4);
  EXPECT_EQ(alignment_of(6), 2);
}

}  // namespace
}  // namespace gemm_tune
