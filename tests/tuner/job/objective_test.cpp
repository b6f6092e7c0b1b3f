// SPDX-License-Identifier: Apache-2.0
// Runs whose winner the cold time decides. Fake workers, so no GPU is needed.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <limits>
#include <string>
#include <vector>

#include "tests/temp_folder.h"
#include "tests/tuner/fakes/fake_tuning.h"

namespace gemm_tune {
namespace {

namespace fs = std::filesystem;

class ObjectiveTest : public testing::Test {
 protected:
  ObjectiveTest() : configs_(fake::some_configs(60, false)) {
    for (const KnownConfig& config : configs_) texts_.push_back(to_string(config.config()));
    const auto least = [&](double (*us)(std::string_view)) {
      return *std::min_element(texts_.begin(), texts_.end(),
                               [us](const auto& a, const auto& b) { return us(a) < us(b); });
    };
    fastest_hot_ = least(fake::time_us_of);
    fastest_cold_ = least(fake::cold_us_of);
  }

  std::string file(const std::string& name) const { return (folder_.path() / name).string(); }

  ProblemReport tuned(Objective objective, const std::string& mode = "cold") const {
    TuneRequest request = fake::request_of(configs_, file("log"), mode);
    request.rule.objective = objective;
    return fake::tune_into(file("a.db"), request).problems.at(0);
  }

  std::vector<Record> rows() const {
    const Database database(file("a.db"), Database::Mode::read_only);
    return database.records(device_key(find_device_spec("sm_90").value()), fake::kProblem);
  }

  std::vector<KnownConfig> configs_;
  std::vector<std::string> texts_;
  std::string fastest_hot_, fastest_cold_;

 private:
  const TempFolder folder_;
};

// Whether the log says that each predicated specialisation of the config was verified.
bool verified_specialisations(const std::string& log, const std::string& config) {
  std::vector<KnownConfig> specialisations = served_variants(check_config(parse_config(config)));
  specialisations.erase(specialisations.begin());
  const std::string lines = read_file(log);
  return !specialisations.empty() &&
         std::all_of(specialisations.begin(), specialisations.end(),
                     [&](const KnownConfig& specialisation) {
                       return lines.find("measure " + to_string(specialisation.config()) + "\n") !=
                              lines.npos;
                     });
}

std::string name_of_winner(const ProblemReport& report) {
  return to_string(report.winner.value().config.config());
}

TEST_F(ObjectiveTest, ARunByEitherObjectiveVerifiesTheSpecialisationsOfTheFirstByBothRanks) {
  const std::string hot_winner = name_of_winner(tuned(Objective::hot));
  std::string coldest = hot_winner;
  double least_cold_us = std::numeric_limits<double>::infinity();
  for (const Record& row : rows()) {
    if (!row.outcome.timing || !row.outcome.timing->cold_us) continue;
    if (*row.outcome.timing->cold_us >= least_cold_us) continue;
    least_cold_us = *row.outcome.timing->cold_us;
    coldest = row.config;
  }
  ASSERT_NE(coldest, hot_winner);
  EXPECT_TRUE(verified_specialisations(file("log"), hot_winner));
  EXPECT_TRUE(verified_specialisations(file("log"), coldest));

  fs::remove(file("a.db"));
  fs::remove(file("log"));
  EXPECT_EQ(name_of_winner(tuned(Objective::cold)), fastest_cold_);
  EXPECT_TRUE(verified_specialisations(file("log"), fastest_cold_));
  for (const Record& row : rows()) {
    if (row.outcome.ranking && row.outcome.ranking->rank == 1) {
      EXPECT_TRUE(verified_specialisations(file("log"), row.config));
      EXPECT_TRUE(row.outcome.ranking->verified);
    }
  }
}

TEST_F(ObjectiveTest, TheConfigWithTheLeastColdTimeWinsWhereColdTimesDecide) {
  ASSERT_NE(fastest_hot_, fastest_cold_);
  const ProblemReport report = tuned(Objective::cold);
  EXPECT_EQ(name_of_winner(report), fastest_cold_);
  EXPECT_EQ(report.objective, Objective::cold);
  const Timing& timing = report.winner->outcome.timing.value();
  EXPECT_EQ(timing.median_us, fake::time_us_of(fastest_cold_));
  EXPECT_EQ(timing.cold_us, fake::cold_us_of(fastest_cold_));
  for (const TuneWinner& tied : report.tied) {
    EXPECT_LE(tied.outcome.timing->cold_us, 1.01 * fake::cold_us_of(fastest_cold_));
  }
}

TEST_F(ObjectiveTest, CandidatesThatAreSlowerHotThanTheBestIsColdAreNotTimedCold) {
  tuned(Objective::cold);
  std::size_t without = 0;
  for (const Record& row : rows()) {
    if (row.outcome.timing->cold_us) continue;
    ++without;
    EXPECT_GT(row.outcome.timing->median_us, fake::cold_us_of(fastest_cold_)) << row.config;
  }
  EXPECT_GT(without, 0u);
}

TEST_F(ObjectiveTest, HotTimesDecideByDefaultAlsoAfterARunByColdTimes) {
  tuned(Objective::cold);
  const ProblemReport report = tuned(Objective::hot);
  EXPECT_EQ(name_of_winner(report), fastest_hot_);
  EXPECT_EQ(report.funnel.recalled, configs_.size());
}

TEST_F(ObjectiveTest, AfterAHotRunOnlyThoseThatCouldBeTheBestColdAreTriedAgain) {
  tuned(Objective::hot);
  double best = std::numeric_limits<double>::infinity();
  for (const Record& row : rows())
    best = std::min(best, row.outcome.timing->cold_us.value_or(best));
  std::size_t kept = 0;
  for (const Record& row : rows()) {
    kept += row.outcome.timing->cold_us || row.outcome.timing->median_us > best ? 1 : 0;
  }
  ASSERT_LT(kept, configs_.size());
  const ProblemReport report = tuned(Objective::cold);
  EXPECT_EQ(report.funnel.recalled, kept);
  EXPECT_EQ(name_of_winner(report), fastest_cold_);
}

TEST_F(ObjectiveTest, ARerunByColdTimesCompilesAndMeasuresNothing) {
  tuned(Objective::cold);
  fs::remove(file("log"));
  EXPECT_EQ(name_of_winner(tuned(Objective::cold)), fastest_cold_);
  std::ifstream log(file("log"));
  for (std::string line; std::getline(log, line);) EXPECT_TRUE(line.starts_with("pid ")) << line;
}

TEST_F(ObjectiveTest, HotTimesDecideWhereOperandsCannotBeCold) {
  for (int run = 0; run < 2; ++run) {
    const ProblemReport report = tuned(Objective::cold, "");
    EXPECT_EQ(name_of_winner(report), fastest_hot_);
    EXPECT_EQ(report.funnel.recalled, run == 0 ? 0u : configs_.size());
  }
}

}  // namespace
}  // namespace gemm_tune
