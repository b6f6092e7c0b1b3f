// SPDX-License-Identifier: Apache-2.0
// fp32 products by parts of 16 bits: data that fit the parts, and data that do not.
#include "tests/emulator/kernels/split_operands.h"

#include <gtest/gtest.h>

#include <initializer_list>
#include <string>
#include <tuple>

#include "tests/emulator/kernels/objects.h"

namespace gemm_tune::emulator {
namespace {

const char* const kConfig = "wgmma_parts/BM=64,BN=32,GROUPS=1,PROMOTE=64,TA=0,TB=1";
const char* const kBothAcross = "wgmma_parts/BM=64,BN=80,GROUPS=1,PROMOTE=64,TA=1,TB=0";
const char* const kOneAcross = "wgmma_parts/BM=64,BN=64,GROUPS=1,PROMOTE=32,TA=0,TB=0";

const char* const kOfBf16 = "wgmma_parts/BM=64,BN=32,GROUPS=1,PROMOTE=64,TA=0,TB=1,ACCURACY=4";
const char* const kOtherOfBf16 =
    "wgmma_parts/BM=128,BN=32,GROUPS=2,PROMOTE=32,TA=1,TB=0,ACCURACY=4";

const char* const kByMma = "mma_parts/BM=32,BN=32,BK=32,WM=16,WN=32,MMA_K=16,STAGES=3,TA=0,TB=1";
const char* const kOtherByMma =
    "mma_parts/BM=64,BN=32,BK=64,WM=32,WN=16,MMA_K=16,STAGES=2,TA=1,TB=0";
const char* const kByMmaOfTuring =
    "mma_parts/BM=32,BN=64,BK=32,WM=32,WN=32,MMA_K=8,STAGES=2,TA=0,TB=0";

const char* const kOfBf16ByMma =
    "mma_parts/BM=32,BN=32,BK=32,WM=32,WN=16,MMA_K=16,STAGES=3,TA=0,TB=1,ACCURACY=4";
const char* const kOtherOfBf16ByMma =
    "mma_parts/BM=64,BN=32,BK=64,WM=32,WN=32,MMA_K=16,STAGES=2,TA=1,TB=0,ACCURACY=4";

const char* const kBesideF16 = "wgmma_parts/BM=64,BN=32,GROUPS=1,PROMOTE=32,TA=0,TB=0,TYPE_A=1";
const char* const kBesideF16ByMma =
    "mma_parts/BM=64,BN=32,BK=64,WM=32,WN=16,MMA_K=16,STAGES=2,TA=0,TB=0,TYPE_A=1";

// One operand of 16 bits, on either side, its rows along K or across.
const char* const kOfTwoTypes[] = {
    "wgmma_parts/BM=64,BN=32,GROUPS=1,PROMOTE=64,TA=0,TB=1,ACCURACY=4,TYPE_B=2",
    "wgmma_parts/BM=64,BN=80,GROUPS=1,PROMOTE=32,TA=1,TB=0,ACCURACY=4,TYPE_B=2",
    "wgmma_parts/BM=128,BN=32,GROUPS=2,PROMOTE=64,TA=1,TB=1,ACCURACY=4,TYPE_A=2",
    "wgmma_parts/BM=64,BN=32,GROUPS=1,PROMOTE=64,TA=1,TB=0,TYPE_B=1",
    kBesideF16,
    "mma_parts/BM=32,BN=32,BK=32,WM=32,WN=16,MMA_K=16,STAGES=3,TA=0,TB=1,ACCURACY=4,TYPE_B=2",
    "mma_parts/BM=64,BN=32,BK=64,WM=32,WN=32,MMA_K=16,STAGES=2,TA=1,TB=0,ACCURACY=4,TYPE_B=2",
    "mma_parts/BM=64,BN=32,BK=32,WM=32,WN=16,MMA_K=16,STAGES=3,TA=1,TB=1,ACCURACY=4,TYPE_A=2",
    "mma_parts/BM=32,BN=64,BK=32,WM=32,WN=32,MMA_K=8,STAGES=2,TA=0,TB=0,TYPE_B=1",
    kBesideF16ByMma};

using Case = std::tuple<const char*, Data>;

class SplitOperands : public testing::TestWithParam<Case> {
 protected:
  static const char* config() { return std::get<0>(GetParam()); }
  static Data data() { return std::get<1>(GetParam()); }

  EmulatedKernel kernel_{object_of(config()), config()};
};

TEST_P(SplitOperands, AreWithinTheBoundOfTheClassOrFp32sOwn) {
  const auto wrong = wrong_of(kernel_, data());
  EXPECT_FALSE(wrong) << *wrong;
}

TEST_P(SplitOperands, GiveTheSameBitsFromKeptCopies) {
  const auto wrong = wrong_with_kept_copies(kernel_, data());
  EXPECT_FALSE(wrong) << *wrong;
}

TEST_P(SplitOperands, AreAddedToWhatIsThereInABatch) {
  const auto wrong = wrong_in_place(kernel_, data());
  EXPECT_FALSE(wrong) << *wrong;
}

std::string name_of(const testing::TestParamInfo<Case>& one) {
  const auto& [config, data] = one.param;
  return identifier(config) + "_" + to_string(data);
}

INSTANTIATE_TEST_SUITE_P(Data, SplitOperands,
                         testing::Combine(testing::Values(kConfig, kOfBf16, kOtherOfBf16, kByMma,
                                                          kOtherByMma, kByMmaOfTuring, kOfBf16ByMma,
                                                          kOtherOfBf16ByMma),
                                          testing::ValuesIn(kAllData)),
                         name_of);

INSTANTIATE_TEST_SUITE_P(OfTwoTypes, SplitOperands,
                         testing::Combine(testing::ValuesIn(kOfTwoTypes),
                                          testing::ValuesIn(kAllData)),
                         name_of);

// What the parts do not hold, of lines that warps, teams and clusters take, in one round and more.
TEST(SplitOperandsLost, AreFp32sOwnAtEveryK) {
  for (const char* config : {kConfig, kBothAcross, kOneAcross, kByMma, kOtherByMma}) {
    EmulatedKernel kernel(object_of(config), config);
    for (const int K : {131, kClustersK, 2200, kLongK}) {
      const auto wrong = wrong_of(kernel, Data::few_lines, K);
      EXPECT_FALSE(wrong) << config << ", K = " << K << ": " << *wrong;
    }
  }
}

void expect_the_same_bits_in_any_order(int K) {
  for (const char* config : {kConfig, kBothAcross, kOneAcross, kByMma, kOtherByMma}) {
    EmulatedKernel kernel(object_of(config), config);
    EXPECT_EQ(others_in_any_order(kernel, Data::few_lines, K), 0) << config << ", K = " << K;
  }
}

TEST(SplitOperandsLost, GiveTheSameBitsInAnyOrderOfThreads) {
  expect_the_same_bits_in_any_order(131);
}

TEST(SplitOperandsLost, OfClustersGiveTheSameBitsInAnyOrderOfThreads) {
  expect_the_same_bits_in_any_order(kClustersK);
}

// Of these some before each change: of both operands across the rows clusters, too.
TEST(SplitOperandsLost, AcrossTheRowsGiveTheSameBitsInAnyOrderOfThreads) {
  EmulatedKernel kernel(object_of(kBothAcross), kBothAcross);
  EXPECT_EQ(others_in_any_order(kernel, Data::few_lines, kClustersK), 0);
}

// A kept copy is whichever operand of a call: B of one where it was A of another.
TEST(SplitOperandsCopies, MadeAsTheOtherOperandTellLostNumbers) {
  for (const char* config : {kConfig, kBothAcross, kByMma, kOtherByMma}) {
    EmulatedKernel kernel(object_of(config), config);
    for (const Data data : {Data::few_lines, Data::a_line_more}) {
      const auto wrong = wrong_with_copy_of(kernel, CallValue::A, kernel, data);
      EXPECT_FALSE(wrong) << config << ": " << *wrong;
    }
  }
}

TEST(SplitOperandsCopies, MadeBesideAnOperandOf16BitsTellLostNumbers) {
  EmulatedKernel maker(object_of(kBesideF16), kBesideF16);
  EmulatedKernel maker_by_mma(object_of(kBesideF16ByMma), kBesideF16ByMma);
  for (const char* config : {kOneAcross, kByMmaOfTuring}) {
    EmulatedKernel kernel(object_of(config), config);
    for (EmulatedKernel* const one : {&maker, &maker_by_mma}) {
      const auto wrong = wrong_with_copy_of(*one, CallValue::B, kernel, Data::few_lines);
      EXPECT_FALSE(wrong) << config << ": " << *wrong;
    }
  }
}

TEST(SplitOperandsCopies, AreTheSameOfEveryTileAndLayout) {
  EmulatedKernel kernel(object_of(kConfig), kConfig);
  EmulatedKernel both(object_of(kBothAcross), kBothAcross), one(object_of(kOneAcross), kOneAcross);
  // Lines that a warp takes, then teams of 64, 128 and 256 threads; across the rows what a CTA
  // keeps, what a cluster does, and more.
  for (const int K : {131, 1100, 2200, 5300, 8300}) {
    EXPECT_TRUE(makes_the_same_copies(kernel, both, Data::scaled_lines, K)) << K;
    EXPECT_TRUE(makes_the_same_copies(kernel, one, Data::scaled_lines, K)) << K;
  }
}

// As parts that are kept must be: of every family of the class.
TEST(SplitOperandsCopies, AreTheSameByMma) {
  EmulatedKernel kernel(object_of(kConfig), kConfig);
  EmulatedKernel along(object_of(kByMma), kByMma), across(object_of(kOtherByMma), kOtherByMma);
  for (const int K : {131, 1100, 2200}) {
    EXPECT_TRUE(makes_the_same_copies(kernel, along, Data::scaled_lines, K)) << K;
    EXPECT_TRUE(makes_the_same_copies(kernel, across, Data::scaled_lines, K)) << K;
  }
  EXPECT_TRUE(makes_the_same_copies(kernel, across, Data::growing, kLongK));
}

// The CTA that has a line's largest magnitude is the cluster's last one, then one that reads twice.
TEST(SplitOperandsCopies, AreScaledByTheLargestMagnitudeOfAllCtas) {
  EmulatedKernel kernel(object_of(kConfig), kConfig), both(object_of(kBothAcross), kBothAcross);
  for (const int K : {3900, kLongK}) {
    EXPECT_TRUE(makes_the_same_copies(kernel, both, Data::growing, K)) << K;
  }
}

TEST(SplitOperandsCopies, OfBf16AreTheSameOfEveryTileAndLayout) {
  EmulatedKernel kernel(object_of(kOfBf16), kOfBf16);
  EmulatedKernel other(object_of(kOtherOfBf16), kOtherOfBf16);
  EmulatedKernel by_mma(object_of(kOfBf16ByMma), kOfBf16ByMma);
  EmulatedKernel other_by_mma(object_of(kOtherOfBf16ByMma), kOtherOfBf16ByMma);
  for (const int K : {131, 2200, 8300}) {
    for (EmulatedKernel* const one : {&other, &by_mma, &other_by_mma}) {
      EXPECT_TRUE(makes_the_same_copies(kernel, *one, Data::scaled_lines, K)) << K;
    }
  }
}

// Of the sums' order, which a GPU is held against, too.
TEST(SplitOperandsBits, AreThoseOfProductsOfPartsByMma) {
  for (const char* config : {kByMma, kOtherByMma, kByMmaOfTuring}) {
    EmulatedKernel kernel(object_of(config), config);
    EXPECT_EQ(others_than_by_parts(kernel, Data::uniform, 131), 0) << config;
    EXPECT_EQ(others_than_by_parts(kernel, Data::scaled_lines, 333), 0) << config;
  }
}

// What a promotion every 32 or 64 k gives, of which the bound, for the worst case, says little.
void expect_half_of_fp32s(const char* config, std::initializer_list<Data> all, int K) {
  EmulatedKernel kernel(object_of(config), config);
  for (const Data data : all) {
    EXPECT_LT(errors_of_sums(kernel, data, K).beside_fp32, 0.5) << config << to_string(data);
  }
}

constexpr const char* kOfOneType[] = {kConfig,     kOfBf16,        kOtherOfBf16, kByMma,
                                      kOtherByMma, kByMmaOfTuring, kOfBf16ByMma, kOtherOfBf16ByMma};

TEST(SplitOperandsError, IsHalfOfFp32sAtMost) {
  for (const char* config : kOfOneType) expect_half_of_fp32s(config, {Data::positive}, 1024);
}

TEST(SplitOperandsError, OfTwoTypesIsHalfOfFp32sAtMost) {
  for (const char* config : kOfTwoTypes) expect_half_of_fp32s(config, {Data::positive}, 1024);
}

// One before each change.
TEST(SplitOperandsError, OfGrowingDataIsHalfOfFp32sAtMost) {
  expect_half_of_fp32s(kByMma, {Data::growing}, kLongK);
}

TEST(SplitOperandsError, OfOtherDataIsHalfOfFp32sAtMostByEveryConfig) {
  const auto expect = [](const char* config) {
    expect_half_of_fp32s(config, {Data::uniform}, 1024);
    expect_half_of_fp32s(config, {Data::growing}, kLongK);
  };
  for (const char* config : kOfOneType) expect(config);
  for (const char* config : kOfTwoTypes) expect(config);
}

}  // namespace
}  // namespace gemm_tune::emulator
