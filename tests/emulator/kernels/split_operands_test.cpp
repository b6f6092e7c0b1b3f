// SPDX-License-Identifier: Apache-2.0
// fp32 products by parts of 16 bits: data that fit the parts, and data that do not.
#include "tests/emulator/kernels/split_operands.h"

#include <gtest/gtest.h>

#include "tests/emulator/kernels/objects.h"

namespace gemm_tune::emulator {
namespace {

const char* const kConfig = "wgmma_f16x3/BM=64,BN=32,GROUPS=1,PROMOTE=64,TA=0,TB=1";
const char* const kStored = "wgmma_f16x3/BM=64,BN=80,GROUPS=1,PROMOTE=64,TA=1,TB=0,STORED=1";
const char* const kReadTwice = "wgmma_f16x3/BM=64,BN=64,GROUPS=1,PROMOTE=16,TA=0,TB=0";

class SplitOperands : public testing::TestWithParam<Data> {
 protected:
  EmulatedKernel kernel_{object_of(kConfig), kConfig};
};

TEST_P(SplitOperands, AreWithinTheBoundOfTheClassOrFp32sOwn) {
  const auto wrong = wrong_of(kernel_, GetParam());
  EXPECT_FALSE(wrong) << *wrong;
}

TEST_P(SplitOperands, GiveTheSameBitsFromKeptCopies) {
  const auto wrong = wrong_with_kept_copies(kernel_, GetParam());
  EXPECT_FALSE(wrong) << *wrong;
}

INSTANTIATE_TEST_SUITE_P(Data, SplitOperands, testing::ValuesIn(kAllData),
                         [](const auto& instance) { return to_string(instance.param); });

TEST(SplitOperandsCopies, AreTheSameOfEveryTileAndLayout) {
  EmulatedKernel kernel(object_of(kConfig), kConfig);
  EmulatedKernel stored(object_of(kStored), kStored), twice(object_of(kReadTwice), kReadTwice);
  // Lines that a warp takes, then teams of 64, 128 and 256 threads; across the rows what registers,
  // shared memory and neither hold.
  for (const int K : {131, 1100, 2200, 5300, 8300}) {
    EXPECT_TRUE(makes_the_same_copies(kernel, stored, K)) << K;
    EXPECT_TRUE(makes_the_same_copies(kernel, twice, K)) << K;
  }
}

// What a promotion every 64 k gives, of which the bound, for the worst case, says little.
TEST(SplitOperandsError, IsHalfOfFp32sAtMost) {
  EmulatedKernel kernel(object_of(kConfig), kConfig);
  EXPECT_LT(error_beside_fp32(kernel, Data::uniform, 1024), 0.5);
  EXPECT_LT(error_beside_fp32(kernel, Data::positive, 1024), 0.5);
  EXPECT_LT(error_beside_fp32(kernel, Data::growing, kLongK), 0.5);
}

}  // namespace
}  // namespace gemm_tune::emulator
