// SPDX-License-Identifier: Apache-2.0
#include "tuner/measure/kept_operands.h"

#include <gmock/gmock.h>

#include <algorithm>

namespace gemm_tune {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr std::size_t kGibibyte = std::size_t{1} << 30;
constexpr std::size_t kMebibyte = std::size_t{1} << 20;

TEST(KeptOperandsTest, LargeOperandsOfSeveralProblemsStayWithinAFourthOfTheMemory) {
  const KeptOperands kept[] = {
      {2 * kGibibyte, 1, false}, {6 * kGibibyte, 2, false}, {3 * kGibibyte, 3, false}};
  EXPECT_THAT(make_room(kept, 9 * kGibibyte, 80 * kGibibyte), ElementsAre(false, false, false));
}

TEST(KeptOperandsTest, TheLongestUnusedGoFirstAndNoMoreThanNeeded) {
  const KeptOperands kept[] = {
      {6 * kGibibyte, 9, false}, {6 * kGibibyte, 1, false}, {6 * kGibibyte, 5, false}};
  EXPECT_THAT(make_room(kept, 3 * kGibibyte, 80 * kGibibyte), ElementsAre(false, true, false));
  EXPECT_THAT(make_room(kept, 10 * kGibibyte, 80 * kGibibyte), ElementsAre(false, true, true));
}

TEST(KeptOperandsTest, OperandsOfTheSameShapeStay) {
  const KeptOperands kept[] = {{30 * kGibibyte, 1, true}, {kGibibyte, 2, false}};
  EXPECT_THAT(make_room(kept, 30 * kGibibyte, 80 * kGibibyte), ElementsAre(false, true));
}

TEST(KeptOperandsTest, LargeOperandsDriveOutNoSmallOnesAndSmallOnesNoLargeOnes) {
  const KeptOperands kept[] = {{kMebibyte, 1, false}, {60 * kGibibyte, 2, false}};
  EXPECT_THAT(make_room(kept, 60 * kGibibyte, 80 * kGibibyte), ElementsAre(false, true));
  EXPECT_THAT(make_room(kept, kMebibyte, 80 * kGibibyte), ElementsAre(false, false));
}

TEST(KeptOperandsTest, SmallOperandsTakeHalfAGibibyteAtMost) {
  std::vector<KeptOperands> kept;
  for (std::uint64_t use = 1; use <= 16; ++use) kept.push_back({31 * kMebibyte, use, false});
  const std::vector<bool> goes =
      make_room(kept, 31 * kMebibyte, 80 * kGibibyte);  // 527 MiB with them
  EXPECT_TRUE(goes.front());
  EXPECT_EQ(std::count(goes.begin(), goes.end(), true), 1);
}

TEST(KeptOperandsTest, OfNothingNothingGoes) {
  EXPECT_THAT(make_room({}, kGibibyte, kGibibyte), IsEmpty());
}

}  // namespace
}  // namespace gemm_tune
