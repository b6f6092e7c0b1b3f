// SPDX-License-Identifier: Apache-2.0
#include "core/types/float8.h"

#include <gtest/gtest.h>

#include <cmath>

namespace gemm_tune {
namespace {

TEST(Float8, KnowsItsNumbers) {
  EXPECT_EQ(e4m3_to_float(0x00), 0);
  EXPECT_EQ(e4m3_to_float(0x01), 0x1p-9f);
  EXPECT_EQ(e4m3_to_float(0x08), 0x1p-6f);
  EXPECT_EQ(e4m3_to_float(0x38), 1);
  EXPECT_EQ(e4m3_to_float(0xb9), -1.125f);
  EXPECT_EQ(e4m3_to_float(0x7e), 448);
  EXPECT_TRUE(std::isnan(e4m3_to_float(0x7f)));
  EXPECT_TRUE(std::isnan(e4m3_to_float(0xff)));
}

TEST(Float8, HoldsEachOfItsNumbersAndRoundsWhatLiesBetweenToNearestTiesToEven) {
  for (int bits = 0; bits < 0x7e; ++bits) {
    const auto own = static_cast<std::uint8_t>(bits), next = static_cast<std::uint8_t>(bits + 1);
    const float low = e4m3_to_float(own), high = e4m3_to_float(next), middle = (low + high) / 2;
    EXPECT_EQ(e4m3_from_float(low), own);
    EXPECT_EQ(e4m3_from_float(-low), own | 0x80);
    EXPECT_EQ(e4m3_from_float(middle), bits % 2 == 0 ? own : next);
    EXPECT_EQ(e4m3_from_float(std::nextafter(middle, high)), next);
    EXPECT_EQ(e4m3_from_float(std::nextafter(middle, low)), own);
  }
}

TEST(Float8, HasNoInfinity) {
  EXPECT_EQ(e4m3_from_float(1e30f), 0x7e);
  EXPECT_EQ(e4m3_from_float(-HUGE_VALF), 0xfe);
  EXPECT_EQ(e4m3_from_float(std::nanf("")), kNanE4m3);
}

}  // namespace
}  // namespace gemm_tune
