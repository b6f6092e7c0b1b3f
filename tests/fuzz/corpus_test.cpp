// SPDX-License-Identifier: Apache-2.0
// Every input kept in the corpus, held against its target with whatever compiler builds the tests.
// Among them is each input that ever was a finding.
#include <gtest/gtest.h>

#include <filesystem>
#include <ostream>
#include <string>

#include "tests/fuzz/targets.h"
#include "tests/temp_folder.h"

namespace gemm_tune::fuzz {

static void PrintTo(const Target& target, std::ostream* out) { *out << target.name; }

namespace {

class CorpusTest : public testing::TestWithParam<Target> {};

TEST_P(CorpusTest, HoldsForEveryInput) {
  const std::filesystem::path folder = std::filesystem::path(GT_FUZZ_CORPUS) / GetParam().name;
  int inputs = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    ++inputs;
    EXPECT_NO_THROW(GetParam().check(read_file(entry.path()))) << entry.path();
  }
  EXPECT_GT(inputs, 0);
}

INSTANTIATE_TEST_SUITE_P(Of, CorpusTest, testing::ValuesIn(kTargets),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace gemm_tune::fuzz
