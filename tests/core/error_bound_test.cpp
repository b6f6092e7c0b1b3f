// SPDX-License-Identifier: Apache-2.0
#include "core/types/error_bound.h"

#include <gtest/gtest.h>

#include "core/error.h"

namespace gemm_tune {
namespace {

constexpr Signature kBf16ToF32 = signature_of(ElementType::bf16, ElementType::f32);

double fp32_sums(std::int64_t K) { return error_bound(Signature(), K, 0).sums; }

TEST(ErrorBoundTest, OfFp32GrowsByOneRoundingPerProduct) {
  EXPECT_DOUBLE_EQ(fp32_sums(0), 3 * 0x1p-24 + 3 * 0x1p-48 + 0x1p-72);
  EXPECT_NEAR(fp32_sums(4096), 4099 * 0x1p-24, 4e-8);
  EXPECT_GT(fp32_sums(4096), 4099 * 0x1p-24);
}

TEST(ErrorBoundTest, StaysABoundWhereKTimesTheRoundoffPassesOne) {
  EXPECT_NEAR(fp32_sums((1 << 24) - 3), 1.71828, 1e-5);
  EXPECT_NEAR(fp32_sums((1 << 25) - 3), 6.38906, 1e-5);
  EXPECT_NEAR(fp32_sums(2147483647) / 3.887694e55, 1, 1e-6);
}

TEST(ErrorBoundTest, OfFp32IsNothingButThat) {
  const ErrorBound bound = error_bound(Signature(), 100, 0);
  EXPECT_EQ(bound.at(1e30, 3), bound.sums * 3);
}

// Steps of 8 products: 8 of their 9 terms lose 2^-24 or 2^-25 each, the result 2^-23.
TEST(ErrorBoundTest, OfTensorCoresGrowsByStep) {
  for (const int sm : {75, 80, 89}) {
    EXPECT_NEAR(error_bound(kBf16ToF32, 1024, sm).sums, (128 * 10 + 4) * 0x1p-24, 1e-8) << sm;
  }
  for (const int sm : {90, 120}) {
    EXPECT_NEAR(error_bound(kBf16ToF32, 1024, sm).sums, (128 * 6 + 4) * 0x1p-24, 1e-8) << sm;
  }
  EXPECT_EQ(error_bound(kBf16ToF32, 1025, 90).sums, error_bound(kBf16ToF32, 1032, 90).sums);
  EXPECT_THROW(error_bound(kBf16ToF32, 64, 61), DeviceError);
}

TEST(ErrorBoundTest, ADOf16BitsIsRoundedOnceMore) {
  const ErrorBound f32 = error_bound(kBf16ToF32, 64, 90);
  const ErrorBound bf16 = error_bound(signature_of(ElementType::bf16), 64, 90);
  const ErrorBound f16 = error_bound(signature_of(ElementType::f16), 64, 90);
  EXPECT_DOUBLE_EQ(f16.at(3, 5), f32.at(3, 5) + (3 + f32.at(3, 5)) * 0x1p-11 + 0x1p-25);
  EXPECT_DOUBLE_EQ(bf16.at(3, 5), f32.at(3, 5) + (3 + f32.at(3, 5)) * 0x1p-8 + 0x1p-134);
}

TEST(ErrorBoundTest, OperandsThatAreRoundedOrSplitLeaveOutWhatIsBelowTheirParts) {
  const auto sums = [](Accuracy accuracy, std::int64_t K) {
    Signature types;
    types.accuracy = accuracy;
    return error_bound(types, K, 90).sums;
  };
  EXPECT_NEAR(sums(Accuracy::tf32, 0), 2 * 0x1p-11, 1e-6);
  EXPECT_NEAR(sums(Accuracy::fp32_bf16x6, 0), 5 * 0x1p-24 + 4 * 0x1p-24, 1e-9);
  EXPECT_NEAR(sums(Accuracy::fp32_f16x3, 0), 2 * 0x1p-17 + 0x1p-22 + 4 * 0x1p-24, 1e-9);
  EXPECT_LT(sums(Accuracy::fp32_f16x3, 4096), sums(Accuracy::tf32, 4096));
}

// Each step of 16 products keeps 14 bits on sm_89 and sm_90, fp32's on others.
TEST(ErrorBoundTest, Of8BitOperandsCountsWhatFewBitsOfASumLeaveOut) {
  const Signature types = parse_signature("e4m3/e4m3/f32/f32");
  const double of_steps = std::pow((1 + 16 * 0x1p-13) * (1 + 0x1p-13), 8) - 1;
  EXPECT_NEAR(error_bound(types, 128, 90).sums, of_steps, 1e-6);
  EXPECT_NEAR(error_bound(types, 4096, 90).sums, of_steps, 1e-5);  // promoted every 128 k
  EXPECT_LT(error_bound(types, 128, 100).sums, 1e-4);
}

// Beyond the k after which they are promoted, each further one adds a rounding in fp32.
TEST(ErrorBoundTest, OfPromotedSumsGrowsByOneRoundingPerPromotion) {
  Signature types;
  types.accuracy = Accuracy::fp32_bf16x6;
  const double once = error_bound(types, 1024, 90).sums, twice = error_bound(types, 2048, 90).sums;
  EXPECT_NEAR(twice - once, 64 * 0x1p-24, 1e-9);
}

TEST(ErrorBoundTest, OfWholeNumbersIsTheirScalingAndRounding) {
  const ErrorBound bound = error_bound(signature_of(ElementType::s8), 1 << 20, 90);
  EXPECT_NEAR(bound.sums, 4 * 0x1p-24, 1e-12);
  EXPECT_EQ(bound.stored, 0);
  EXPECT_EQ(bound.least, 0.5);
}

TEST(ExactRangeTest, ShrinksAsKGrowsButNeverToZero) {
  EXPECT_EQ(exact_range(0, ElementType::f32), 4);
  EXPECT_EQ(exact_range(1 << 20, ElementType::f32), 4);
  EXPECT_EQ(exact_range((1 << 20) + 1, ElementType::f32), 3);
  EXPECT_EQ(exact_range(1 << 24, ElementType::f32), 1);
  EXPECT_EQ(exact_range(2147483647, ElementType::f32), 1);
}

// Of a product of two uniform whole numbers up to r the standard deviation is r (r + 1) / 3. Four
// times that, times the root of K, stays within 2048 of f16 and 256 of bf16.
TEST(ExactRangeTest, KeepsTypicalSumsExactInD) {
  EXPECT_EQ(exact_range(5898, ElementType::f16), 4);
  EXPECT_EQ(exact_range(5899, ElementType::f16), 3);
  EXPECT_EQ(exact_range(16384, ElementType::f16), 3);
  EXPECT_EQ(exact_range(65536, ElementType::f16), 2);
  EXPECT_EQ(exact_range(92, ElementType::bf16), 4);
  EXPECT_EQ(exact_range(256, ElementType::bf16), 3);
  EXPECT_EQ(exact_range(1024, ElementType::bf16), 2);
  EXPECT_EQ(exact_range(1025, ElementType::bf16), 1);
  EXPECT_EQ(exact_range(1 << 20, ElementType::bf16), 1);
}

// Four steps of 8 products lose 2^-10 each, whatever K, for every 32 k are added in fp32; what is
// subnormal in fp16 loses up to 2^-24 in each step.
TEST(ErrorBound, OfSumsInFp16DoesNotGrowWithKButByPromotions) {
  const Signature in_fp16 = parse_signature("f16/f16/f32/f32+sums_fp16");
  for (const int sm : {75, 80, 86, 89, 90, 120}) {
    const ErrorBound one = error_bound(in_fp16, 32, sm), many = error_bound(in_fp16, 3200, sm);
    EXPECT_NEAR(one.sums, 4 * 0x1p-10, 1e-5) << sm;
    EXPECT_NEAR(many.sums - one.sums, 99 * 0x1p-24, 1e-7) << sm;
    EXPECT_NEAR(one.each, 4 * 0x1p-24, 0.01 * one.each) << sm;
    EXPECT_NEAR(many.each, 100 * one.each, 0.01 * many.each) << sm;
  }
  EXPECT_EQ(error_bound(signature_of(ElementType::f16), 3200, 90).each, 0);
  const ErrorBound bound = error_bound(in_fp16, 32, 90);
  EXPECT_EQ(bound.at(1, 0, 3), 3 * bound.each);
}

}  // namespace
}  // namespace gemm_tune
