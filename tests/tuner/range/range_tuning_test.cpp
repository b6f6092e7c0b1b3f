// SPDX-License-Identifier: Apache-2.0
// One (N, K) tuned over a range of M. Fake workers, so no GPU is needed.
#include "tuner/range/range_tuning.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <set>
#include <string>
#include <vector>

#include "choose/choose.h"
#include "choose/layered.h"
#include "core/error.h"
#include "tests/matchers.h"
#include "tests/temp_folder.h"
#include "tests/tuner/fakes/fake_tuning.h"
#include "tuner/plan/problem_results.h"
#include "tuner/range/m_range.h"
#include "tuner/range/range_pool.h"

namespace gemm_tune {
namespace {

std::vector<Problem> problems_of(const MRange& range) {
  std::vector<Problem> problems;
  for (const std::int64_t m : sampled_m(range)) problems.push_back(packed_problem(m, 512, 256));
  return problems;
}

class RangeTuningTest : public testing::Test {
 protected:
  TuneRequest request_of(bool measure) const {
    TuneRequest request = fake::request_of({}, (folder_.path() / "log").string());
    request.problems = problems_of({1, 48});
    request.measure = measure;
    request.most_points = 2000;
    request.budget = 12;
    return request;
  }

  RangeTuned tune(TuneRequest request, double within, bool in_one_order = false) {
    request.in_one_order = in_one_order;
    Database database(file_, Database::Mode::create_or_open);
    const auto search = [&](const TuneRequest& asked) {
      database.begin_run({"test", "13.0", "", "with fakes", 1});
      TuneReport report = gemm_tune::tune(asked, database, [](const Progress&) {});
      for (const ProblemReport& one : report.problems) {
        tried_ += one.funnel.tried - one.funnel.recalled;
      }
      return report;
    };
    return tune_range(request, within, database, search);
  }

  Choice choice(const TuneRequest& request, std::int64_t m) const {
    const Database database(file_, Database::Mode::read_only);
    return choose(load_tuned(database, "sm_90", environment_of(request).revisions),
                  device_key(request.device), packed_problem(m, 512, 256));
  }

  const TempFolder folder_;
  const std::string file_ = (folder_.path() / "a.db").string();
  std::uint64_t tried_ = 0;
};

TEST_F(RangeTuningTest, ItsConfigsServeEveryMOfTheRangeByALegalSpecialisation) {
  for (const bool measure : {true, false}) {
    std::filesystem::remove(file_);
    const TuneRequest request = request_of(measure);
    const RangeReport range = tune(request, 0.05).range;
    EXPECT_EQ(range.pool, 12u);
    ASSERT_EQ(range.rows.size(), request.problems.size());
    ASSERT_FALSE(range.configs.empty());
    EXPECT_LT(range.configs.size(), range.rows.size());
    for (const RangeRow& row : range.rows) {
      ASSERT_NE(row.config, "") << to_string(row.problem);
      EXPECT_LE(row.of_best, 1);
      const Choice served = choice(request, row.problem.M);
      EXPECT_EQ(served.match, Match::exact);
      EXPECT_EQ(text_for_any_m(*served.config), row.config) << to_string(row.problem);
    }
    const std::set<std::string> configs(range.configs.begin(), range.configs.end());
    for (std::int64_t m = 1; m <= 48; ++m) {
      const Choice served = choice(request, m);
      EXPECT_EQ(why_illegal(served.config->recipe, packed_problem(m, 512, 256)), std::nullopt);
      EXPECT_TRUE(configs.contains(text_for_any_m(*served.config))) << m;
    }
    EXPECT_THAT(choice(request, 20).explanation,
                HasSubstr("the better of the winners for the tuned M on both sides"));
  }
}

TEST_F(RangeTuningTest, TheChosenConfigsAreWithinTheShareOfTheBest) {
  for (const double within : {0.0, 0.1, 1.0}) {
    const RangeReport range = tune(request_of(true), within).range;
    for (const RangeRow& row : range.rows) {
      EXPECT_GE(row.of_best, 1 / (1 + within) - 1e-9) << within << " " << to_string(row.problem);
    }
  }
}

// As a pool's search does whose time is used up.
TEST_F(RangeTuningTest, AnMThatThePoolWasNotTimedAtIsJudgedByTheFinals) {
  Database database(file_, Database::Mode::create_or_open);
  bool is_pool = true;
  const auto search = [&](TuneRequest asked) {
    if (is_pool) asked.problems.pop_back();
    is_pool = false;
    database.begin_run({"test", "13.0", "", "with fakes", 1});
    return gemm_tune::tune(asked, database, [](const Progress&) {});
  };
  const RangeReport range = tune_range(request_of(true), 0.05, database, search).range;
  ASSERT_FALSE(range.rows.empty());
  for (const RangeRow& row : range.rows) {
    EXPECT_GT(row.of_best, 0) << to_string(row.problem);
    EXPECT_GT(row.us, 0) << to_string(row.problem);
  }
}

TEST_F(RangeTuningTest, ARerunTriesNothingAgain) {
  const RangeReport first = tune(request_of(true), 0.05).range;
  EXPECT_GT(tried_, 12u);
  tried_ = 0;
  const RangeReport again = tune(request_of(true), 0.05).range;
  EXPECT_EQ(tried_, 0u);
  EXPECT_EQ(again.configs, first.configs);
}

TEST_F(RangeTuningTest, AnInterruptionWhileItsPoolIsPlannedEndsItBeforeAnythingIsTried) {
  const std::atomic<bool> asked = true;
  for (const bool in_one_order : {false, true}) {
    TuneRequest request = request_of(true);
    request.interruption = Interruption(asked);
    const RangeTuned tuned = tune(request, 0.05, in_one_order);
    EXPECT_TRUE(tuned.report.interrupted);
    EXPECT_EQ(tuned.range.pool, 0u);
    EXPECT_EQ(tried_, 0u);
  }
}

TEST_F(RangeTuningTest, WithoutAGpuOnlyTheChosenConfigsAreCompiled) {
  const RangeReport range = tune(request_of(false), 0.05).range;
  EXPECT_LT(tried_, 12 * range.rows.size());
  for (const RangeRow& row : range.rows) EXPECT_GE(row.of_best, 1 / 1.05 - 1e-9);
}

TEST_F(RangeTuningTest, WithoutTimeNothingIsTried) {
  for (const bool measure : {true, false}) {
    TuneRequest request = request_of(measure);
    request.time_limit = std::chrono::seconds(0);
    const RangeTuned tuned = tune(request, 0.05);
    EXPECT_EQ(tried_, 0u);
    EXPECT_TRUE(tuned.report.out_of_time);
    EXPECT_TRUE(tuned.range.configs.empty());
  }
}

TEST(TimeOfRange, IsAnEqualShareOfWhatIsLeft) {
  using std::chrono::minutes, std::chrono::seconds;
  EXPECT_EQ(time_of_range(minutes(12), seconds(0), 12), minutes(1));
  EXPECT_EQ(time_of_range(minutes(12), seconds(10), 11), seconds(65));
  EXPECT_EQ(time_of_range(minutes(12), minutes(11), 1), minutes(1));
  EXPECT_EQ(time_of_range(minutes(12), minutes(13), 3), seconds(0));
  EXPECT_EQ(time_of_range(seconds(2), seconds(0), 3), seconds(1));
}

TEST_F(RangeTuningTest, InOneOrderItsConfigsServeTheCallsThatAskForOne) {
  for (const bool measured : {true, false}) {
    std::filesystem::remove(file_);
    tune(request_of(measured), 0.05);  // faster ones, of families that say no order
    const TuneRequest request = request_of(measured);
    const RangeReport range = tune(request, 0.05, true).range;
    EXPECT_EQ(range.order, "naive rising");
    const Database database(file_, Database::Mode::read_only);
    Layered all = load_layered(&database, {}, "sm_90", environment_of(request).revisions, {}, true);
    for (const RangeRow& row : range.rows) {
      ASSERT_NE(row.config, "") << to_string(row.problem);
      const Choice served = choose(all.tuned.at("sm_90"), device_key(request.device), row.problem,
                                   {false, true, true});
      EXPECT_EQ(served.match, Match::exact) << to_string(row.problem);
      EXPECT_EQ(text_for_any_m(*served.config), row.config) << to_string(row.problem);
    }
  }
}

TEST_F(RangeTuningTest, WithoutAConfigOfAKnownOrderNothingIsTried) {
  TuneRequest request = request_of(true);
  request.families = {find_family("tiled_2d")};
  EXPECT_THROW(tune(request, 0.05, true), NothingFound);
  request.only = {check_config(parse_config("tiled_2d/BM=32,BN=32,BK=8,TM=4,TN=4,PRED=1"))};
  EXPECT_THROW(tune(request, 0.05, true), NothingFound);
}

TEST_F(RangeTuningTest, AnInterruptedRunDecidesNothing) {
  TuneRequest request = request_of(true);
  std::atomic<bool> stop = true;
  request.interruption = Interruption(stop);
  const RangeTuned tuned = tune(request, 0.05);
  EXPECT_TRUE(tuned.report.interrupted);
  EXPECT_TRUE(tuned.range.configs.empty());
}

}  // namespace
}  // namespace gemm_tune
