// SPDX-License-Identifier: Apache-2.0
// Every kernel with an epilogue of epilogue_configs.txt, and in `./run slow` those of
// more_epilogue_configs.txt, against the hostile cases of its family.
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tests/emulator/listed_kernel_test.h"

namespace gemm_tune::emulator {
namespace {

const std::vector<std::string> kLines = configs_in(GT_EMULATOR_CONFIGS);
const std::vector<std::string> kMoreLines = configs_in(GT_MORE_EMULATOR_CONFIGS);

std::vector<std::string> all_lines() {
  std::vector<std::string> all = kLines;
  all.insert(all.end(), kMoreLines.begin(), kMoreLines.end());
  return all;
}

TEST(EmulatedEpilogues, CoverEveryFamilyAndTypeOfDWithBoth) {
  std::set<std::pair<std::string, std::string>> seen;
  std::set<std::pair<ElementType, std::string>> types;
  for (const std::string& line : all_lines()) {
    const std::string definition = line.substr(line.find(' ') + 1);
    const KnownConfig config = check_config(parse_config(config_of(line)));
    seen.emplace(config.family->name, definition);
    types.emplace(config.traits.signature.d, definition);
  }
  EXPECT_EQ(seen.size(), 2 * families().size());
  EXPECT_EQ(types.size(), 2 * 3U);
}

class EmulatedEpilogue : public ListedKernelTest {};

TEST_P(EmulatedEpilogue, IsExactOnIntegersAtEveryTileEdge) { check(edge_cases(config())); }

TEST_P(EmulatedEpilogue, HoldsForEveryAlphaAndBeta) { check(scale_cases(config())); }

TEST_P(EmulatedEpilogue, HasOneBiasForAllOfABatch) { check(batch_cases(config())); }

TEST_P(EmulatedEpilogue, StaysWithinTheErrorBoundOnReals) { check(rounding_cases(config())); }

class SharingEpilogue : public EmulatedEpilogue {};

TEST_P(SharingEpilogue, IsAppliedOnceToTheSumOfAllShares) { check(share_cases(config())); }

INSTANTIATE_TEST_SUITE_P(Configs, SharingEpilogue, testing::ValuesIn(sharing(kLines)), name_of);
INSTANTIATE_TEST_SUITE_P(MoreConfigs, SharingEpilogue, testing::ValuesIn(sharing(kMoreLines)),
                         name_of);
INSTANTIATE_TEST_SUITE_P(Configs, EmulatedEpilogue, testing::ValuesIn(kLines), name_of);
INSTANTIATE_TEST_SUITE_P(MoreConfigs, EmulatedEpilogue, testing::ValuesIn(kMoreLines), name_of);

}  // namespace
}  // namespace gemm_tune::emulator
