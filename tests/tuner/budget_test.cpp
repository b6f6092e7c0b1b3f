#include "tuner/budget.h"

#include <gtest/gtest.h>

namespace gemm_tune {
namespace {

TEST(BudgetTest, OnAGpuIsTheRootOfTheSpaceWithinBounds) {
  EXPECT_EQ(default_budget(10, true), 64u);
  EXPECT_EQ(default_budget(4'096, true), 64u);
  EXPECT_EQ(default_budget(40'000, true), 200u);
  EXPECT_EQ(default_budget(1'000'000, true), 512u);
}

TEST(BudgetTest, IsAQuarterOfThatWhereTimingsMadeElsewhereGuideTheSearch) {
  EXPECT_EQ(default_budget(10, true, true), 16u);
  EXPECT_EQ(default_budget(40'000, true, true), 50u);
  EXPECT_EQ(default_budget(1'000'000, true, true), 128u);
}

TEST(BudgetTest, WithoutAGpuIsTheSameForEverySpace) {
  EXPECT_EQ(default_budget(10, false), 128u);
  EXPECT_EQ(default_budget(1'000'000, false), 128u);
}

}  // namespace
}  // namespace gemm_tune
