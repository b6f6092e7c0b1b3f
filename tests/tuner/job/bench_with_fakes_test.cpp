// SPDX-License-Identifier: Apache-2.0
// gemm-tune bench with fake workers: cublasSgemm takes 120 us, cublasLt 110, the autotuned call
// 115.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/temp_folder.h"
#include "tests/tuner/fakes/fake_tuning.h"
#include "tuner/agents/one_machine.h"
#include "tuner/report/bench_table.h"

namespace gemm_tune {
namespace {

class BenchWithFakesTest : public testing::Test {
 protected:
  std::vector<BenchRow> bench(const std::string& mode, bool with_untuned = false) {
    TuneRequest request = fake::request_of({}, (folder_.path() / "log").string(), mode);
    request.baselines.assign(kBaselineKinds.begin(), kBaselineKinds.end());
    std::vector<Benched> all;
    for (const KnownConfig& config : configs_) all.push_back({fake::kProblem, config});
    if (with_untuned) all.insert(all.begin(), {fake::kProblem, std::nullopt});
    return gemm_tune::bench(request, all, [&](const BenchRow& row) {
      told_.push_back(row.what.config ? to_string(row.what.config->config()) : "");
    });
  }

  const TempFolder folder_;
  const std::vector<KnownConfig> configs_ = fake::some_configs(4, false);
  std::vector<std::string> told_;
};

TEST_F(BenchWithFakesTest, EachWinnerIsTimedBesideEveryBaseline) {
  const std::vector<BenchRow> rows = bench("cold");
  ASSERT_EQ(rows.size(), configs_.size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const std::string config = to_string(configs_[i].config());
    EXPECT_EQ(told_.at(i), config);
    EXPECT_EQ(rows[i].outcome.timing->median_us, fake::time_us_of(config));
    EXPECT_EQ(rows[i].outcome.timing->cold_us, fake::cold_us_of(config));
    EXPECT_EQ(rows[i].outcome.error, fake::error_of(config));
    std::vector<double> baselines;
    for (const Baseline& one : rows[i].baselines) baselines.push_back(one.timing.median_us);
    EXPECT_THAT(baselines, testing::UnorderedElementsAre(120, 110, 115));
  }
}

TEST_F(BenchWithFakesTest, ABaselineThatCublasRefusesIsLeftOutWithItsReason) {
  const std::vector<BenchRow> rows = bench("no_autotune");
  EXPECT_EQ(rows.at(0).baselines.size(), 2u);
  EXPECT_EQ(rows.at(0).absent.size(), 1u);
  EXPECT_THAT(bench_end(rows), testing::HasSubstr("without: cublasGemmEx-autotuned 0.0: as the"));
}

TEST_F(BenchWithFakesTest, AProblemThatNobodyTunedIsARowWithoutTimes) {
  const std::vector<BenchRow> rows = bench("", true);
  ASSERT_EQ(rows.size(), configs_.size() + 1);
  EXPECT_FALSE(rows[0].outcome.timing);
  EXPECT_EQ(bench_lines(rows[0]), "1024x1024x1024  not tuned: gemm-tune --sizes 1024x1024x1024\n");
}

}  // namespace
}  // namespace gemm_tune
