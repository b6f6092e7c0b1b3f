// SPDX-License-Identifier: Apache-2.0
#include "core/types/signature.h"

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
  const struct {
    ElementType type;
    double unit_roundoff, half_of_least;
    std::int64_t largest_exact_integer;
  } kTypes[] = {
      {ElementType::f16, 0x1p-11, 0x1p-25, 2048},      {ElementType::bf16, 0x1p-8, 0x1p-134, 256},
      {ElementType::f32, 0x1p-24, 0x1p-150, 16777216}, {ElementType::e4m3, 0x1p-4, 0x1p-10, 16},
      {ElementType::e5m2, 0x1p-3, 0x1p-17, 8},         {ElementType::s8, 0, 0.5, 127},
      {ElementType::s32, 0, 0.5, 2147483647},
  };
  for (const auto& one : kTypes) {
    EXPECT_EQ(unit_roundoff(one.type), one.unit_roundoff) << to_string(one.type);
    EXPECT_EQ(half_of_least(one.type), one.half_of_least) << to_string(one.type);
    EXPECT_EQ(largest_exact_integer(one.type), one.largest_exact_integer) << to_string(one.type);
  }
  EXPECT_EQ(unit_roundoff(ElementType::f64), 0x1p-53);
}

TEST(SignatureTest, IsFp32UnlessToldOtherwise) {
  EXPECT_EQ(Signature(), signature_of(ElementType::f32));
  EXPECT_EQ(Signature().accuracy, Accuracy::fp32);
}

TEST(SignatureTest, SixteenBitOperandsHaveSumsInFp32) {
  EXPECT_EQ(signature_of(ElementType::f64).accuracy, Accuracy::fp32);
  EXPECT_EQ(signature_of(ElementType::bf16),
            (Signature{ElementType::bf16, ElementType::bf16, ElementType::bf16, ElementType::bf16,
                       Accuracy::sums_fp32}));
  EXPECT_EQ(signature_of(ElementType::f16, ElementType::f32),
            (Signature{ElementType::f16, ElementType::f16, ElementType::f32, ElementType::f32,
                       Accuracy::sums_fp32}));
  EXPECT_EQ(to_string(signature_of(ElementType::bf16)), "bf16");
}

TEST(SignatureTest, AnOperandOfF32MakesAProductOneOfF32) {
  using enum ElementType;
  EXPECT_EQ(accuracy_of(f32, bf16), Accuracy::fp32);
  EXPECT_EQ(accuracy_of(bf16, f32), Accuracy::fp32);
  EXPECT_TRUE(has_class(bf16, f32, Accuracy::tf32));
  EXPECT_FALSE(has_class(f32, bf16, Accuracy::sums_fp32));
  EXPECT_EQ(parse_signature("bf16/f32/f32/f32").accuracy, Accuracy::fp32);
}

TEST(SignatureTest, TextIsOneTypeWhereAllAreOne) {
  EXPECT_EQ(to_string(Signature()), "f32");
  EXPECT_EQ(to_string(signature_of(ElementType::f64)), "f64");
  EXPECT_EQ(to_string(Signature{ElementType::f16, ElementType::f16, ElementType::f32,
                                ElementType::f16, Accuracy::sums_fp32}),
            "f16/f16/f32/f16");
}

TEST(SignatureTest, ATextIsReadBack) {
  for (const std::string text :
       {"f32", "f16", "bf16", "e4m3", "s8/s8/s32/s32", "f16/f16/f32/f32", "e4m3/e5m2/f16/bf16",
        "f32/bf16/f32/f32", "bf16/f32/f32/f32", "f32/bf16/f32/f32+tf32", "f32+tf32",
        "f32+fp32_f16x3", "f16/f16/f32/f32+sums_fp16"}) {
    EXPECT_EQ(to_string(parse_signature(text)), text);
  }
  EXPECT_EQ(parse_signature("bf16"), signature_of(ElementType::bf16));
  EXPECT_EQ(parse_signature("f32+fp32"), Signature());
  for (const char* alias :
       {"bf16x6", "BF16_BF16_F32_X6", "fp32_3xtf32", "tf32x3", "TF32_TF32_F32_X3"}) {
    EXPECT_EQ(to_string(parse_signature("f32+" + std::string(alias))), "f32+fp32_bf16x6") << alias;
  }
  for (const char* alias : {"bf16x3", "BF16_BF16_F32_X3"}) {
    EXPECT_EQ(to_string(parse_signature("f32+" + std::string(alias))), "f32+fp32_f16x3") << alias;
  }
  for (const char* text : {"", "f64", "fp16", "bf16/f32", "f16/f16/f32/f32/f32", "f16/", "/f16",
                           "f32+", "+tf32", "f32+mixed", "bf16+tf32", "f32+sums_s32"}) {
    EXPECT_THROW(parse_signature(text), UsageError) << text;
  }
}

TEST(SignatureTest, EveryTypeIsNamedOnceAndKnowsItsBits) {
  for (int i = 0; i < kMatrixTypes; ++i) {
    const auto type = static_cast<ElementType>(i);
    const TypeInfo& info = info_of(type);
    EXPECT_EQ(find_type([&](const TypeInfo& one) { return to_string(type) == one.name; }), type);
    EXPECT_EQ(
        find_type([&](const TypeInfo& one) { return one.cuda_data_type == info.cuda_data_type; }),
        type);
    // A sign, the exponent, and the significand without its leading one.
    EXPECT_EQ(1 + info.exponent_bits + info.significand_bits - (is_floating(type) ? 1 : 0),
              info.bits)
        << info.name;
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
