// SPDX-License-Identifier: Apache-2.0
#include "core/text/quantity.h"

#include <gtest/gtest.h>

namespace gemm_tune {
namespace {

TEST(QuantityTest, ATimeHasThreeDigitsAndTheUnitThatFits) {
  EXPECT_EQ(short_duration_text(2.63141), "2.63 us");
  EXPECT_EQ(short_duration_text(999.6), "1.00 ms");
  EXPECT_EQ(short_duration_text(340210), "340 ms");
  EXPECT_EQ(short_duration_text(7.1e7), "71.0 s");
  EXPECT_EQ(short_duration_text(1.2e9), "20.0 min");
  EXPECT_EQ(short_duration_text(4.5e10), "12.5 h");
  EXPECT_EQ(short_duration_text(3.6e24), "1e+15 h");
}

TEST(QuantityTest, ACountHasItsPluralAndItsThousandsApart) {
  EXPECT_EQ(counted(0, "row"), "0 rows");
  EXPECT_EQ(counted(1, "call"), "1 call");
  EXPECT_EQ(counted(2, "query", "queries"), "2 queries");
  EXPECT_EQ(counted(1234567, "problem"), "1,234,567 problems");
  EXPECT_EQ(grouped(999), "999");
  EXPECT_EQ(grouped(1000), "1,000");
}

}  // namespace
}  // namespace gemm_tune
