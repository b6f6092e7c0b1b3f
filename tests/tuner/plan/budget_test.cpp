// SPDX-License-Identifier: Apache-2.0
#include "tuner/plan/budget.h"

#include <gtest/gtest.h>

namespace gemm_tune {
namespace {

TEST(BudgetTest, OnAGpuIsTheRootOfTheSpaceWithinBounds) {
  EXPECT_EQ(default_budget(10, true), 64u);
  EXPECT_EQ(default_budget(4'096, true), 64u);
  EXPECT_EQ(default_budget(10'000, true), 100u);
  EXPECT_EQ(default_budget(1'000'000, true), 160u);
}

TEST(BudgetTest, WithoutAGpuIsTheSameForEverySpace) {
  EXPECT_EQ(default_budget(10, false), 128u);
  EXPECT_EQ(default_budget(1'000'000, false), 128u);
}

}  // namespace
}  // namespace gemm_tune
