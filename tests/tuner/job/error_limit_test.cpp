// SPDX-License-Identifier: Apache-2.0
// Which candidates may win under a limit of errors. Fake workers, so no GPU is needed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "tests/temp_folder.h"
#include "tests/tuner/fakes/fake_tuning.h"
#include "tuner/plan/plan.h"
#include "tuner/plan/problem_results.h"
#include "tuner/report/report.h"

namespace gemm_tune {
namespace {

namespace fs = std::filesystem;

class ErrorLimitTest : public testing::Test {
 protected:
  struct Fake {
    std::string config;
    double us, ratio;  // of its error to cuBLAS's
  };

  ErrorLimitTest() : configs_(fake::some_configs(60, false)) {
    for (const KnownConfig& config : configs_) {
      const std::string text = to_string(config.config());
      fakes_.push_back({text, fake::time_us_of(text), fake::error_of(text) / fake::kCublasError});
    }
    std::sort(fakes_.begin(), fakes_.end(),
              [](const Fake& a, const Fake& b) { return a.us < b.us; });
  }

  std::string file(const std::string& name) const { return (folder_.path() / name).string(); }

  ProblemReport tuned(std::optional<double> max_error, const std::string& mode = "") const {
    TuneRequest request = fake::request_of(configs_, file("log"), mode);
    request.rule.max_error = max_error;
    return fake::tune_into(file("a.db"), request).problems.at(0);
  }

  // The fastest within the limit.
  std::size_t first_within(double ratio) const {
    const auto first = std::find_if(fakes_.begin(), fakes_.end(),
                                    [&](const Fake& one) { return one.ratio <= ratio; });
    return static_cast<std::size_t>(first - fakes_.begin());
  }

  // A limit that passes over several configs, but not all.
  double strict_limit() const {
    double least = fakes_[0].ratio;
    for (std::size_t i = 0; i < 5; ++i) least = std::min(least, fakes_[i].ratio);
    return 0.999 * least;
  }

  std::vector<KnownConfig> configs_;
  std::vector<Fake> fakes_;  // fastest first

 private:
  const TempFolder folder_;
};

std::string winner_of(const ProblemReport& report) {
  return report.winner ? to_string(report.winner->config.config()) : "none";
}

TEST_F(ErrorLimitTest, TheFastestConfigWithinTheLimitWinsAndTheFasterOnesAreCounted) {
  const std::size_t expected = first_within(strict_limit());
  ASSERT_GE(expected, 5u);
  ASSERT_LT(expected, fakes_.size());
  const ProblemReport report = tuned(strict_limit());
  EXPECT_EQ(winner_of(report), fakes_[expected].config);
  ASSERT_TRUE(report.error_limit.has_value());
  EXPECT_EQ(report.error_limit->passed_over, expected);
  EXPECT_EQ(report.winner->outcome.error, fake::error_of(fakes_[expected].config));
  EXPECT_EQ(report.winner->baselines.at(0).error, fake::kCublasError);
  for (const TuneWinner& tied : report.tied) {
    EXPECT_LE(tied.outcome.error.value(), strict_limit() * fake::kCublasError);
  }
}

TEST(WithinErrorTest, ATimeAboveTheLimitGrowsWithTheSquareOfTheExcess) {
  EXPECT_EQ(within_error(10, 2, 2), 10);
  EXPECT_EQ(within_error(10, 4, 2), 40);
  EXPECT_TRUE(std::isinf(within_error(10, 4, 0)));
}

TEST_F(ErrorLimitTest, WithoutALimitTheFastestConfigWinsAndItsErrorIsKnown) {
  const ProblemReport report = tuned(std::nullopt);
  EXPECT_EQ(winner_of(report), fakes_[0].config);
  EXPECT_FALSE(report.error_limit.has_value());
  EXPECT_EQ(report.winner->outcome.error, fake::error_of(fakes_[0].config));
}

TEST_F(ErrorLimitTest, NothingWinsWhereNoConfigIsWithinTheLimit) {
  const ProblemReport report = tuned(0.1);
  EXPECT_FALSE(report.winner.has_value());
  EXPECT_GT(report.funnel.survived, 0u);
  ASSERT_TRUE(report.error_limit.has_value());
  EXPECT_EQ(report.error_limit->passed_over, fakes_.size());
  double least = fakes_[0].ratio;
  for (const Fake& one : fakes_) least = std::min(least, one.ratio);
  EXPECT_NEAR(report.error_limit->least.value_or(0), least, 1e-9);
}

TEST_F(ErrorLimitTest, NothingWinsAgainstACublasWithoutErrorAndTheReportSaysSo) {
  const ProblemReport report = tuned(1.0, "exact_cublas");
  EXPECT_FALSE(report.winner.has_value());
  ASSERT_TRUE(report.error_limit.has_value());
  EXPECT_EQ(report.error_limit->passed_over, fakes_.size());
  ASSERT_TRUE(report.error_limit->least.has_value());
  EXPECT_TRUE(std::isinf(*report.error_limit->least));
  EXPECT_THAT(why_no_winner(report),
              testing::HasSubstr("cuBLAS's error is 0, and no candidate's is"));
}

TEST_F(ErrorLimitTest, EveryFiniteResultIsWithinTheErrorOfACublasWhoseResultsAreNot) {
  const ProblemReport report = tuned(1.0, "overflowing_cublas");
  EXPECT_EQ(winner_of(report), fakes_[0].config);
  ASSERT_TRUE(report.error_limit.has_value());
  EXPECT_EQ(report.error_limit->passed_over, 0u);
}

TEST_F(ErrorLimitTest, ARunWithoutALimitAfterOneWithALimitHasItsOwnWinner) {
  tuned(strict_limit());
  const ProblemReport report = tuned(std::nullopt);
  EXPECT_EQ(winner_of(report), fakes_[0].config);
  EXPECT_EQ(report.funnel.recalled, configs_.size());
}

TEST_F(ErrorLimitTest, ALimitAfterARunWithoutOneTriesNothingAgain) {
  tuned(std::nullopt);
  const ProblemReport report = tuned(strict_limit());
  EXPECT_EQ(winner_of(report), fakes_[first_within(strict_limit())].config);
  EXPECT_EQ(report.funnel.recalled, configs_.size());
}

TEST_F(ErrorLimitTest, ARerunWithTheSameLimitCompilesAndMeasuresNothing) {
  const ProblemReport first = tuned(strict_limit());
  fs::remove(file("log"));
  const ProblemReport again = tuned(strict_limit());
  EXPECT_EQ(winner_of(again), winner_of(first));
  EXPECT_EQ(again.error_limit->passed_over, first.error_limit->passed_over);
  std::ifstream log(file("log"));
  for (std::string line; std::getline(log, line);) EXPECT_TRUE(line.starts_with("pid ")) << line;
}

TEST_F(ErrorLimitTest, RowsWithoutAnErrorAreTriedAgainUnderALimit) {
  {
    Database database(file("a.db"), Database::Mode::create_or_open);
    database.begin_run({"earlier", "13.0", "", "as version 2 stored them", 1});
    const TuneRequest request = fake::request_of(configs_, file("log"));
    const KernelRevisions revisions = environment_of(request).revisions;
    for (const KnownConfig& config : configs_) {
      Outcome outcome;
      const std::string text = to_string(config.config());
      const double us = fake::time_us_of(text);
      outcome.timing = Timing{us, {us}, 10};
      database.store(device_key(request.device), fake::kProblem, text,
                     revisions.at(config.family->name), outcome, Source::measured);
    }
  }
  EXPECT_EQ(tuned(std::nullopt).funnel.recalled, configs_.size());
  const ProblemReport report = tuned(strict_limit());
  EXPECT_EQ(winner_of(report), fakes_[first_within(strict_limit())].config);
  EXPECT_LT(report.funnel.recalled, configs_.size());  // the finals above measured some errors
  EXPECT_EQ(tuned(strict_limit()).funnel.recalled, configs_.size());
}

}  // namespace
}  // namespace gemm_tune
