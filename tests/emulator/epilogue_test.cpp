// SPDX-License-Identifier: Apache-2.0
// Every kernel with an epilogue of epilogue_configs.txt, and in `./run slow` those of
// more_epilogue_configs.txt, against the hostile cases of its family.
#include <gtest/gtest.h>

#include <fstream>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tests/emulator/emulated_kernel.h"
#include "tests/emulator/objects.h"

namespace gemm_tune::emulator {
namespace {

// Of each line the config and its definition.
std::vector<std::string> listed_in(const char* path) {
  std::ifstream file(path);
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) {
    if (!line.empty() && line[0] != '#') lines.push_back(line);
  }
  return lines;
}

std::string config_of(const std::string& line) { return line.substr(0, line.find(' ')); }

const std::vector<std::string> kLines = listed_in(GT_EMULATOR_CONFIGS);
const std::vector<std::string> kMoreLines = listed_in(GT_MORE_EMULATOR_CONFIGS);

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

class EmulatedEpilogue : public testing::TestWithParam<std::string> {
 protected:
  EmulatedEpilogue() : kernel_(object_of(GetParam()), config_of(GetParam())) {}

  void check(const std::vector<Case>& cases) {
    ASSERT_FALSE(cases.empty());
    for (const Case& c : cases) {
      const auto wrong = kernel_.check(c);
      ASSERT_FALSE(wrong) << to_string(c) << ": " << *wrong;
    }
  }

  const KnownConfig& config() const { return kernel_.config(); }

 private:
  EmulatedKernel kernel_;
};

TEST_P(EmulatedEpilogue, IsExactOnIntegersAtEveryTileEdge) { check(edge_cases(config())); }

TEST_P(EmulatedEpilogue, HoldsForEveryAlphaAndBeta) { check(scale_cases(config())); }

TEST_P(EmulatedEpilogue, HasOneBiasForAllOfABatch) { check(batch_cases(config())); }

TEST_P(EmulatedEpilogue, StaysWithinTheErrorBoundOnReals) { check(rounding_cases(config())); }

class SharingEpilogue : public EmulatedEpilogue {};

TEST_P(SharingEpilogue, IsAppliedOnceToTheSumOfAllShares) { check(share_cases(config())); }

std::vector<std::string> sharing(std::vector<std::string> lines) {
  std::erase_if(lines, [](const std::string& line) {
    return !shares_tiles(check_config(parse_config(config_of(line))));
  });
  return lines;
}

std::string name_of(const testing::TestParamInfo<std::string>& instance) {
  return identifier(instance.param);
}

INSTANTIATE_TEST_SUITE_P(Configs, SharingEpilogue, testing::ValuesIn(sharing(kLines)), name_of);
INSTANTIATE_TEST_SUITE_P(MoreConfigs, SharingEpilogue, testing::ValuesIn(sharing(kMoreLines)),
                         name_of);
INSTANTIATE_TEST_SUITE_P(Configs, EmulatedEpilogue, testing::ValuesIn(kLines), name_of);
INSTANTIATE_TEST_SUITE_P(MoreConfigs, EmulatedEpilogue, testing::ValuesIn(kMoreLines), name_of);

}  // namespace
}  // namespace gemm_tune::emulator
