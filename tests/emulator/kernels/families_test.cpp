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

TEST_P(EmulatedFamily, IsExactOnIntegersAtEachTileEdge) { check(each_edge_cases(config())); }

TEST_P(EmulatedFamily, IsExactUnderEveryOrderOfThreads) { check(barrier_cases(config())); }

TEST_P(EmulatedFamily, ReadsNeitherAAndBWhereAlphaIsZeroNorCWhereBetaIsZero) {
  check(scale_cases(config(), Tiles::one));
}

TEST_P(EmulatedFamily, ServesABatchWithAnyStrides) { check(batch_cases(config(), Tiles::one)); }

TEST_P(EmulatedFamily, StaysWithinTheErrorBoundOnReals) {
  check(rounding_cases(config(), Tiles::one));
}

TEST_P(EmulatedFamily, ReachesElementsPastTwoToThe31) { check(far_cases(config())); }

// All pairs of edges, and matrices of more than a tile: in `./run slow`.
class EmulatedFamilyInSeveralTiles : public EmulatedFamily {};

TEST_P(EmulatedFamilyInSeveralTiles, IsExactOnIntegersAtEveryPairOfEdges) {
  check(edge_cases(config()));
}

TEST_P(EmulatedFamilyInSeveralTiles, ReadsNeitherAAndBWhereAlphaIsZeroNorCWhereBetaIsZero) {
  check(scale_cases(config()));
}

TEST_P(EmulatedFamilyInSeveralTiles, ServesABatchWithAnyStrides) { check(batch_cases(config())); }

TEST_P(EmulatedFamilyInSeveralTiles, StaysWithinTheErrorBoundOnReals) {
  check(rounding_cases(config()));
}

class SharingFamily : public EmulatedFamily {};
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(SharingFamily);

TEST_P(SharingFamily, AddsUpSharesAlikeWhoeverComesLast) { check(some_share_cases(config())); }

class SharingFamilyInSeveralTiles : public EmulatedFamily {};

TEST_P(SharingFamilyInSeveralTiles, AddsUpSharesAlikeWhoeverComesLast) {
  check(share_cases(config()));
}

#define GT_OF_LISTS(suite, select)                                                        \
  INSTANTIATE_TEST_SUITE_P(Configs, suite, testing::ValuesIn(select(kConfigs)), name_of); \
  INSTANTIATE_TEST_SUITE_P(MoreConfigs, suite, testing::ValuesIn(select(kMoreConfigs)), name_of)
GT_OF_LISTS(SharingFamily, sharing);
GT_OF_LISTS(SharingFamilyInSeveralTiles, sharing);
GT_OF_LISTS(EmulatedFamily, );
GT_OF_LISTS(EmulatedFamilyInSeveralTiles, );

}  // namespace
}  // namespace gemm_tune::emulator
