// SPDX-License-Identifier: Apache-2.0
// Every kernel with an epilogue of epilogue_configs.txt, and in `./run slow` those of
// more_epilogue_configs.txt, against the hostile cases of its family.
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tests/emulator/kernels/listed_kernel_test.h"
#include "tests/epilogues.h"

namespace gemm_tune::emulator {
namespace {

const std::vector<std::string> kLines = configs_in(GT_EMULATOR_CONFIGS);
const std::vector<std::string> kMoreLines = configs_in(GT_MORE_EMULATOR_CONFIGS);

std::vector<std::string> all_lines() {
  std::vector<std::string> all = kLines;
  all.insert(all.end(), kMoreLines.begin(), kMoreLines.end());
  return all;
}

Epilogue epilogue_of(const std::string& line) {
  return parse_epilogue(line.substr(line.find(" EPILOGUE=") + 10));
}

TEST(EmulatedEpilogues, CoverEveryFamilyWithABiasAndReluOfIt) {
  std::set<std::pair<std::string, Epilogue>> seen;
  for (const std::string& line : all_lines()) {
    seen.emplace(check_config(parse_config(config_of(line))).family->name, epilogue_of(line));
  }
  for (const KernelFamily& family : families()) {
    EXPECT_TRUE(seen.contains({family.name, kBiasColumn})) << family.name;
    EXPECT_TRUE(seen.contains({family.name, kBiasColumnRelu})) << family.name;
  }
}

TEST(EmulatedEpilogues, CoverEveryFunctorWithEveryTypeOfDInEachRun) {
  std::set<std::pair<std::string, ElementType>> seen;
  std::set<ElementType> types;
  for (const std::string& line : kLines) {
    const ElementType d = check_config(parse_config(config_of(line))).traits.signature.d;
    types.insert(d);
    epilogue_of(line).for_each(
        [&](const EpilogueFunctor& functor, int) { seen.emplace(functor.name, d); });
  }
  EXPECT_EQ(types.size(), 3U);
  EXPECT_EQ(seen.size(), types.size() * static_cast<std::size_t>(kEpilogueFunctors));
}

class EmulatedEpilogue : public ListedKernelTest {};

// Sums along K at every edge are its family's tests.
TEST_P(EmulatedEpilogue, IsExactOnIntegersAtEveryTileEdge) { check(output_edge_cases(config())); }

TEST_P(EmulatedEpilogue, HoldsForEveryAlphaAndBeta) { check(scale_cases(config(), Tiles::one)); }

TEST_P(EmulatedEpilogue, HasOneBiasForAllOfABatch) { check(batch_cases(config(), Tiles::one)); }

TEST_P(EmulatedEpilogue, StaysWithinTheErrorBoundOnReals) {
  check(rounding_cases(config(), Tiles::one));
}

// Matrices of more than a tile: in `./run slow`.
class EmulatedEpilogueInSeveralTiles : public EmulatedEpilogue {};

TEST_P(EmulatedEpilogueInSeveralTiles, HoldsForEveryAlphaAndBeta) { check(scale_cases(config())); }

TEST_P(EmulatedEpilogueInSeveralTiles, HasOneBiasForAllOfABatch) { check(batch_cases(config())); }

TEST_P(EmulatedEpilogueInSeveralTiles, StaysWithinTheErrorBoundOnReals) {
  check(rounding_cases(config()));
}

class SharingEpilogue : public EmulatedEpilogue {};

TEST_P(SharingEpilogue, IsAppliedOnceToTheSumOfAllShares) { check(some_share_cases(config())); }

class SharingEpilogueInSeveralTiles : public EmulatedEpilogue {};

TEST_P(SharingEpilogueInSeveralTiles, IsAppliedOnceToTheSumOfAllShares) {
  check(share_cases(config()));
}

#define GT_OF_LISTS(suite, select)                                                      \
  INSTANTIATE_TEST_SUITE_P(Configs, suite, testing::ValuesIn(select(kLines)), name_of); \
  INSTANTIATE_TEST_SUITE_P(MoreConfigs, suite, testing::ValuesIn(select(kMoreLines)), name_of)
GT_OF_LISTS(SharingEpilogue, sharing);
GT_OF_LISTS(SharingEpilogueInSeveralTiles, sharing);
GT_OF_LISTS(EmulatedEpilogue, );
GT_OF_LISTS(EmulatedEpilogueInSeveralTiles, );

}  // namespace
}  // namespace gemm_tune::emulator
