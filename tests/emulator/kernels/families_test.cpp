// SPDX-License-Identifier: Apache-2.0
// Every config of configs.txt, and in `./run slow` those of more_configs.txt, against every hostile
// case: one shared object and one set of tests each.
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tests/emulator/kernels/listed_kernel_test.h"

namespace gemm_tune::emulator {
namespace {

const std::vector<std::string> kConfigs = configs_in(GT_EMULATOR_CONFIGS);
const std::vector<std::string> kMoreConfigs = configs_in(GT_MORE_EMULATOR_CONFIGS);

TEST(EmulatedFamilies, CoverEveryFamilyWithEightConfigsAndEveryParameterValue) {
  for (const KernelFamily& family : families()) {
    std::set<std::pair<std::string, int>> seen;
    int configs = 0;
    for (const std::string& text : kConfigs) {
      const Config config = parse_config(text);
      if (config.family != family.name) continue;
      ++configs;
      const KnownConfig known = check_config(config);
      for (std::size_t i = 0; i < known.values.size(); ++i) {
        seen.insert({family.params[i].name, known.values[i]});
      }
    }
    for (const std::string& text : kMoreConfigs) {
      if (parse_config(text).family == family.name) ++configs;
    }
    EXPECT_GE(configs, 8) << family.name;
    for (const ParamSpec& param : family.params) {
      for (const int value : param.values) {
        EXPECT_TRUE(seen.contains({param.name, value}))
            << "no config of " << family.name << " has " << param.name << "=" << value;
      }
    }
  }
}

class EmulatedFamily : public ListedKernelTest {};

TEST_P(EmulatedFamily, IsExactOnIntegersAtEveryTileEdge) { check(edge_cases(config())); }

TEST_P(EmulatedFamily, IsExactUnderEveryOrderOfThreads) { check(barrier_cases(config())); }

TEST_P(EmulatedFamily, ReadsNeitherAAndBWhereAlphaIsZeroNorCWhereBetaIsZero) {
  check(scale_cases(config()));
}

TEST_P(EmulatedFamily, ServesABatchWithAnyStrides) { check(batch_cases(config())); }

TEST_P(EmulatedFamily, StaysWithinTheErrorBoundOnReals) { check(rounding_cases(config())); }

TEST_P(EmulatedFamily, ReachesElementsPastTwoToThe31) { check(far_cases(config())); }

class SharingFamily : public EmulatedFamily {};
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(SharingFamily);

TEST_P(SharingFamily, AddsUpSharesAlikeWhoeverComesLast) { check(share_cases(config())); }

INSTANTIATE_TEST_SUITE_P(Configs, SharingFamily, testing::ValuesIn(sharing(kConfigs)), name_of);
INSTANTIATE_TEST_SUITE_P(Configs, EmulatedFamily, testing::ValuesIn(kConfigs), name_of);
INSTANTIATE_TEST_SUITE_P(MoreConfigs, SharingFamily, testing::ValuesIn(sharing(kMoreConfigs)),
                         name_of);
INSTANTIATE_TEST_SUITE_P(MoreConfigs, EmulatedFamily, testing::ValuesIn(kMoreConfigs), name_of);

}  // namespace
}  // namespace gemm_tune::emulator
