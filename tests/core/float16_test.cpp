// SPDX-License-Identifier: Apache-2.0
#include "core/types/float16.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "core/types/signature.h"

namespace gemm_tune {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

// A pattern's value by the definition of a binary interchange format (IEEE 754-2019, 3.4).
double value_of(Float16Format format, int pattern) {
  const int exponent = (pattern & 0x7fff) >> format.fraction_bits;
  const double fraction =
      std::ldexp(pattern & ((1 << format.fraction_bits) - 1), -format.fraction_bits);
  const double magnitude = exponent == 0 ? std::ldexp(fraction, 1 - format.bias())
                                         : std::ldexp(1 + fraction, exponent - format.bias());
  return (pattern & 0x8000) != 0 ? -magnitude : magnitude;
}

int infinity_of(Float16Format format) { return 0x7fff & -(1 << format.fraction_bits); }

void expect_every_pattern_to_return(Float16Format format) {
  int nans = 0;
  for (int pattern = 0; pattern < 0x10000; ++pattern) {
    const auto bits = static_cast<std::uint16_t>(pattern);
    const float value = to_float(format, bits);
    if ((pattern & 0x7fff) > infinity_of(format)) {
      ++nans;
      ASSERT_TRUE(std::isnan(value)) << pattern;
      ASSERT_EQ(from_float(format, value), 0x7fff) << pattern;
      continue;
    }
    ASSERT_EQ(from_float(format, value), pattern);
    ASSERT_EQ(std::signbit(value), pattern >= 0x8000) << pattern;
    if ((pattern & 0x7fff) == infinity_of(format)) {
      ASSERT_TRUE(std::isinf(value)) << pattern;
    } else {
      ASSERT_EQ(double{value}, value_of(format, pattern)) << pattern;
    }
  }
  EXPECT_EQ(nans, 2 * ((1 << format.fraction_bits) - 1));
}

TEST(Float16Test, EveryPatternHasItsValueAndReturns) {
  expect_every_pattern_to_return(kF16);
  expect_every_pattern_to_return(kBf16);
}

// Between each number and the next one: their mean goes to the even pattern, what is nearer to one
// of them goes there. After the largest number comes infinity, as if it were the next number.
void expect_every_interval_to_round(Float16Format format) {
  for (int lower = 0; lower < infinity_of(format); ++lower) {
    const int upper = lower + 1;
    const double mean = (value_of(format, lower) + value_of(format, upper)) / 2;
    const auto tie = static_cast<float>(mean);
    ASSERT_EQ(double{tie}, mean);
    for (const float sign : {1.0f, -1.0f}) {
      const int sign_bit = sign < 0 ? 0x8000 : 0;
      const auto rounded = [&](float value) { return from_float(format, sign * value) - sign_bit; };
      ASSERT_EQ(rounded(tie), lower % 2 == 0 ? lower : upper) << lower;
      ASSERT_EQ(rounded(std::nextafter(tie, 0.0f)), lower) << lower;
      ASSERT_EQ(rounded(std::nextafter(tie, kInfinity)), upper) << lower;
    }
  }
}

TEST(Float16Test, RoundsToNearestAndTiesToEvenInEveryInterval) {
  expect_every_interval_to_round(kF16);
  expect_every_interval_to_round(kBf16);
}

TEST(Float16Test, LiteralValues) {
  EXPECT_EQ(to_float(kF16, 0x3c00), 1.0f);
  EXPECT_EQ(to_float(kF16, 0xc000), -2.0f);
  EXPECT_EQ(to_float(kF16, 0x7bff), 65504.0f);
  EXPECT_EQ(to_float(kF16, 0x0001), 0x1p-24f);
  EXPECT_EQ(to_float(kBf16, 0x3f80), 1.0f);
  EXPECT_EQ(to_float(kBf16, 0x7f7f), 0x1.fep127f);
  EXPECT_EQ(to_float(kBf16, 0x0001), 0x1p-133f);
  EXPECT_EQ(from_float(kF16, 1.0f / 3), 0x3555);
  EXPECT_EQ(from_float(kBf16, 1.0f / 3), 0x3eab);
  EXPECT_EQ(from_float(kF16, 65519.996f), 0x7bff);
  EXPECT_EQ(from_float(kF16, 65520.0f), 0x7c00);
}

TEST(Float16Test, InfinityAndWhatLiesFarOutside) {
  EXPECT_EQ(from_float(kF16, kInfinity), 0x7c00);
  EXPECT_EQ(from_float(kF16, -kInfinity), 0xfc00);
  EXPECT_EQ(from_float(kF16, 1e30f), 0x7c00);
  EXPECT_EQ(from_float(kBf16, kInfinity), 0x7f80);
  EXPECT_EQ(from_float(kBf16, std::numeric_limits<float>::max()), 0x7f80);
  EXPECT_EQ(from_float(kF16, -1e-30f), 0x8000);
  EXPECT_EQ(from_float(kF16, std::numeric_limits<float>::denorm_min()), 0);
  EXPECT_EQ(from_float(kBf16, std::numeric_limits<float>::denorm_min()), 0);
  EXPECT_EQ(from_float(kBf16, 0x1p-134f), 0);
  EXPECT_EQ(from_float(kBf16, 0x1.8p-134f), 1);
}

TEST(Float16Test, ANanIsOneWhateverItsSignAndPayload) {
  EXPECT_EQ(from_float(kF16, kNan), 0x7fff);
  EXPECT_EQ(from_float(kF16, -kNan), 0x7fff);
  EXPECT_EQ(from_float(kBf16, std::bit_cast<float>(0x7f800001u)), 0x7fff);
}

// The next whole number rounds to its even neighbour.
TEST(Float16Test, HoldsWholeNumbersAsFarAsItsTypeSays) {
  constexpr struct {
    Float16Format format;
    ElementType type;
  } kTypes[] = {{kF16, ElementType::f16}, {kBf16, ElementType::bf16}};
  for (const auto& [format, type] : kTypes) {
    const auto last = static_cast<int>(largest_exact_integer(type));
    for (int i = -last; i <= last; ++i) {
      const auto value = static_cast<float>(i);
      ASSERT_EQ(to_float(format, from_float(format, value)), value);
    }
    EXPECT_EQ(to_float(format, from_float(format, static_cast<float>(last + 1))),
              static_cast<float>(last));
  }
}

}  // namespace
}  // namespace gemm_tune
