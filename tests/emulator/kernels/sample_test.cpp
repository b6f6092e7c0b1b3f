// SPDX-License-Identifier: Apache-2.0
// The cases themselves: a sound kernel with every feature passes them, one with a fault does not.

#include <string>
#include <vector>

#include "tests/emulator/kernels/emulated_kernel.h"
#include "tests/emulator/kernels/objects.h"
#include "tests/emulator/sample/family.h"
#include "tests/matchers.h"

namespace gemm_tune {

// In place of kernel_templates/registry/families.cpp.
std::vector<KernelFamily> built_in_families() { return {sample::family()}; }

namespace emulator {
namespace {

std::string config_of(int split_k, int tail, int ta, int tb, int fault) {
  return "sample/SPLIT_K=" + std::to_string(split_k) + ",TAIL=" + std::to_string(tail) +
         ",TA=" + std::to_string(ta) + ",TB=" + std::to_string(tb) +
         ",FAULT=" + std::to_string(fault);
}

using CaseList = std::vector<Case>(const KnownConfig&);

std::string first_failure(const std::string& config, std::initializer_list<CaseList*> lists) {
  EmulatedKernel kernel(object_of(config), config);
  for (CaseList* list : lists) {
    for (const Case& c : list(kernel.config())) {
      if (const auto wrong = kernel.check(c)) return to_string(c) + ": " + *wrong;
    }
  }
  return "nothing";
}

class SoundSample : public testing::TestWithParam<std::string> {};

TEST_P(SoundSample, PassesEveryCase) {
  EXPECT_EQ(first_failure(GetParam(), {edge_cases, barrier_cases, scale_cases, rounding_cases,
                                       batch_cases, share_cases, far_cases}),
            "nothing");
}

INSTANTIATE_TEST_SUITE_P(Configs, SoundSample,
                         testing::Values(config_of(1, 0, 0, 0, 0), config_of(1, 0, 0, 1, 0),
                                         config_of(1, 0, 1, 0, 0), config_of(1, 0, 1, 1, 0),
                                         config_of(4, 0, 0, 1, 0), config_of(11, 0, 0, 0, 0),
                                         config_of(1, 1, 1, 0, 0), config_of(1, 2, 0, 0, 0)),
                         [](const auto& instance) { return identifier(instance.param); });

TEST(FaultySample, IsNoticedWhereItsBatchStrideIsWrong) {
  EXPECT_THAT(first_failure(config_of(1, 0, 0, 0, sample::kBatchStride), {batch_cases}),
              HasSubstr("is right"));
}

TEST(FaultySample, IsNoticedWhereItTakesALayoutForAnother) {
  EXPECT_DEATH(first_failure(config_of(1, 0, 1, 0, sample::kLayoutA), {edge_cases}),
               "AddressSanitizer: .*-poison");
  EXPECT_THAT(first_failure(config_of(1, 0, 0, 1, sample::kLayoutB), {edge_cases}),
              HasSubstr("is right"));
}

auto failure_of_shares(int fault) {
  return first_failure(config_of(4, 0, 0, 0, fault), {share_cases});
}

TEST(FaultySample, IsNoticedWhereItLeavesACounter) {
  EXPECT_THAT(failure_of_shares(sample::kCounterLeft),
              HasSubstr("left a counter that is not zero"));
}

TEST(FaultySample, IsNoticedWhereSumsDependOnTheOrderOfCtas) {
  EXPECT_THAT(failure_of_shares(sample::kOrderOfArrival),
              HasSubstr("D is not bitwise the same with CTAs "));
}

TEST(FaultySample, IsNoticedWhereSharesLieInOnePlace) {
  EXPECT_THAT(failure_of_shares(sample::kSharedPartials), HasSubstr("is right"));
}

TEST(FaultySample, IsNoticedWhereItUsesMoreWorkspaceThanItAskedFor) {
  EXPECT_DEATH(failure_of_shares(sample::kPartialsTooLong), "AddressSanitizer: .*-poison");
}

TEST(FaultySample, IsNoticedWhereItLeavesOutSharesWithoutSlices) {
  EXPECT_THAT(failure_of_shares(sample::kEmptyShare), HasSubstr("is right"));
}

}  // namespace
}  // namespace emulator
}  // namespace gemm_tune
