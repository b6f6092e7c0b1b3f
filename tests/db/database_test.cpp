// SPDX-License-Identifier: Apache-2.0
#include "db/database.h"

#include <SQLiteCpp/SQLiteCpp.h>
#include <gmock/gmock.h>

#include <cmath>
#include <limits>

#include "core/error.h"
#include "db/winners_view.h"
#include "tests/db/dump.h"
#include "tests/db/fixture.h"

namespace gemm_tune {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;
using testing::MatchesRegex;
using testing::Not;
using testing::StartsWith;

class DatabaseTest : public DbTest {
 protected:
  // Through a connection of a person's own.
  std::vector<std::string> shell(const std::string& sql) { return rows_of(file_, sql); }
};

TEST_F(DatabaseTest, TellsWhatWasTimedElsewhere) {
  Database database = writable(file_);
  store_measured(database, kA6000, "1024x1024x1024", kWholeTiles, 60);  // the very problem
  store_measured(database, kA6000, "512x512x512", kWholeTiles, 20);
  store_measured(database, kA6000, "512x512x512", kPredicated, 30);
  store_measured(database, kA10, "1024x1024x1024", kWholeTiles, 80);
  store_measured(database, kA10, "512x512x512", kWholeTiles, 25);  // both differ
  store_predicted(database, kA6000, "2048x2048x2048", kWholeTiles, 400);
  database.store(kA6000, parse_problem("256x256x256"), kWholeTiles, kHash,
                 failed(Disposition::wrong_result, "wrong"), Source::measured);
  const Problem k512 = parse_problem("512x512x512");
  EXPECT_THAT(database.timed_elsewhere(kA6000, k1024),
              ElementsAre(TimedConfig{kA10, k1024, kWholeTiles, kHash, 80},
                          TimedConfig{kA6000, k512, kWholeTiles, kHash, 20},
                          TimedConfig{kA6000, k512, kPredicated, kHash, 30}));
  EXPECT_THAT(database.timed_elsewhere(kA10, parse_problem("64x64x64")).size(), 2u);
  // What a newer program says of a problem is no reason to do without the rest.
  SQLite::Database(file_.string(), SQLite::OPEN_READWRITE)
      .exec("UPDATE problems SET text = '512x512x512:swizzle=3' WHERE text = '512x512x512'");
  EXPECT_THAT(database.timed_elsewhere(kA6000, k1024),
              ElementsAre(TimedConfig{kA10, k1024, kWholeTiles, kHash, 80}));
}

TEST_F(DatabaseTest, ReturnsARecordAsItWasStored) {
  Database database = writable(file_);
  database.store_baseline(kA6000, k1024, {"cublasSgemm", timing(50)});
  database.store(kA6000, k1024, kWholeTiles, kHash, measured(60.1), Source::measured);
  const std::vector<Record> records = database.records(kA6000, k1024);
  ASSERT_EQ(records.size(), 1u);
  const Record& record = records[0];
  EXPECT_EQ(record.device, kA6000);
  EXPECT_EQ(record.problem, k1024);
  EXPECT_EQ(record.config, kWholeTiles);
  EXPECT_EQ(record.kernel_hash, kHash);
  EXPECT_EQ(record.outcome, measured(60.1));
  EXPECT_EQ(record.source, Source::measured);
  ASSERT_TRUE(record.baseline.has_value());
  EXPECT_EQ(*record.baseline, (Baseline{"cublasSgemm", timing(50)}));
  EXPECT_THAT(record.recorded_at, MatchesRegex("20..-..-..T..:..:..[.]...Z"));
  EXPECT_EQ(record.run.tool_version, "0.1.0");
  EXPECT_EQ(record.run.cuda_version, "13.0");
  EXPECT_EQ(record.run.driver_version, "580.159.04");
  EXPECT_EQ(record.run.command, "gemm-tune --sizes 1024");
  EXPECT_EQ(record.run.seed, 7u);
}

TEST_F(DatabaseTest, ErrorsOfResultsAndBaselinesAreStoredAndShownBesideTheWinner) {
  Database database = writable(file_);
  database.store_baseline(kA6000, k1024, {"cublasSgemm", timing(50), 2.5e-7});
  Outcome outcome = measured(60);
  outcome.error = 5e-7;
  database.store(kA6000, k1024, kWholeTiles, kHash, outcome, Source::measured);
  const Record record = database.records(kA6000, k1024).at(0);
  EXPECT_EQ(record.outcome, outcome);
  EXPECT_EQ(record.baseline.value().error, 2.5e-7);
  EXPECT_EQ(database.baselines(record).at(0).error, 2.5e-7);
  EXPECT_THAT(shell("SELECT error, baseline_error FROM winners"), ElementsAre("5.0e-07|2.5e-07"));
}

TEST_F(DatabaseTest, RefusesAnErrorThatIsNoNumberFromZeroOn) {
  Database database = writable(file_);
  for (const double error : {-1.0, std::nan(""), std::numeric_limits<double>::infinity()}) {
    Outcome outcome = measured(60);
    outcome.error = error;
    EXPECT_THROW(database.store(kA6000, k1024, kWholeTiles, kHash, outcome, Source::measured),
                 DatabaseError);
    EXPECT_THROW(database.store_baseline(kA6000, k1024, {"cublasSgemm", timing(50), error}),
                 DatabaseError);
  }
  EXPECT_TRUE(database.records(kA6000, k1024).empty());
}

class EqualsTest : public DatabaseTest {
 protected:
  void store(const std::string& config, double us, std::optional<double> cold_us,
             Standing standing = Standing::tied, std::optional<double> error = 1e-7,
             std::optional<bool> twins_verified = {}) {
    Outcome outcome = measured(us);
    outcome.twins_verified = twins_verified;
    outcome.standing = standing;
    outcome.timing->cold_us = cold_us;
    outcome.error = error;
    database_.store(kA6000, k1024, config, kHash, outcome, Source::measured);
  }

  std::string winner() const { return database_.winners("sm_86", kHashes).at(0).config; }

  Database database_ = writable(file_);
  const std::string third_ = "naive/BM=16,BN=16,COALESCED=1,PRED=0";
};

TEST_F(EqualsTest, TheLeastProductOfHotAndColdTimeDecidesAmongTiedConfigsWithVerifiedTwins) {
  const auto tied = [&](const std::string& config, double us, double cold_us, bool verified) {
    store(config, us, cold_us, Standing::tied, 1e-7, verified);
  };
  tied(kWholeTiles, 10, 13.5, true);
  tied(kPredicated, 10.2, 9.3, false);
  EXPECT_EQ(winner(), kWholeTiles);
  tied(kPredicated, 10.2, 9.3, true);
  EXPECT_EQ(winner(), kPredicated);
  tied(third_, 10.25, 9.28, true);  // less cold, and more in the product
  EXPECT_EQ(winner(), kPredicated);
  tied(third_, 10.31, 5, true);  // more than 3 % slower
  EXPECT_EQ(winner(), kPredicated);
}

TEST_F(EqualsTest, TheLeastColdTimeDecidesAmongTiedConfigsOfVersion3) {
  store(kWholeTiles, 100, 150);
  EXPECT_EQ(winner(), kWholeTiles);
  store(kPredicated, 100.4, 140);
  EXPECT_EQ(winner(), kPredicated);
  store(third_, 100.49, 139);  // of another family
  EXPECT_EQ(winner(), third_);
}

TEST_F(EqualsTest, AConfigThatIsMoreThanHalfAPercentSlowerIsNoEqual) {
  store(kWholeTiles, 100, 150);
  store(kPredicated, 100.51, 140);
  EXPECT_EQ(winner(), kWholeTiles);
}

TEST_F(EqualsTest, AConfigThatIsNotTiedOrHasNoColdTimeIsNoEqual) {
  store(kWholeTiles, 100, 150);
  store(kPredicated, 100.1, 140, Standing::finals);
  store(third_, 100.1, std::nullopt);
  EXPECT_EQ(winner(), kWholeTiles);
}

TEST_F(EqualsTest, RowsWithoutErrorsAreDecidedByTheHotTimeAlone) {
  store(kWholeTiles, 100, 150, Standing::tied, std::nullopt);
  store(kPredicated, 100.1, 140, Standing::tied, std::nullopt);
  EXPECT_EQ(winner(), kWholeTiles);
}

TEST_F(EqualsTest, AFasterConfigWithoutAColdTimeWins) {
  store(kWholeTiles, 100, std::nullopt);
  store(kPredicated, 100.1, 140);
  EXPECT_EQ(winner(), kWholeTiles);
}

class RuleTest : public EqualsTest {
 protected:
  RuleTest() {
    database_.store_baseline(kA6000, k1024, {"cublasLt 13.1.0 (best)", timing(40), 9e-7});
    database_.store_baseline(kA6000, k1024, {"cublasSgemm 13.1.0", timing(50), 2e-7});
    store(kWholeTiles, 100, 150, Standing::tied, 4e-7);
    store(kPredicated, 110, 130, Standing::finals, 3e-7);
    store(third_, 120, std::nullopt, Standing::search, 2e-7);
  }

  std::string winner_by(const WinnerRule& rule,
                        const Database::ConfigFilter& usable = nullptr) const {
    const std::vector<Record> found = database_.winners_by(rule, "sm_86", kHashes, usable);
    return found.empty() ? "none" : found.at(0).config;
  }
};

TEST_F(RuleTest, TheLeastColdTimeWinsWhereColdTimesDecide) {
  EXPECT_EQ(winner(), kWholeTiles);
  EXPECT_EQ(winner_by({Objective::cold}), kPredicated);
  EXPECT_EQ(winner_by({Objective::cold}, [](const auto& config) { return config != kPredicated; }),
            kWholeTiles);
}

TEST_F(RuleTest, TheFastestWithinTheLimitOfErrorsWins) {
  EXPECT_EQ(winner_by({Objective::hot, 2.0}), kWholeTiles);
  EXPECT_EQ(winner_by({Objective::hot, 1.9}), kPredicated);
  EXPECT_EQ(winner_by({Objective::hot, 1.0}), third_);
  EXPECT_EQ(winner_by({Objective::cold, 1.0}), "none");
  EXPECT_EQ(winner_by({Objective::hot, 0.9}), "none");
}

TEST_F(RuleTest, ALimitOfErrorsThatRefusesNoRowChangesNoWinner) {
  store(kWholeTiles, 100, 150, Standing::tied, 2e-7, true);
  store(kPredicated, 102, 130, Standing::tied, 2e-7, true);
  EXPECT_EQ(winner(), kPredicated);  // the least product of time and cold time
  EXPECT_EQ(winner_by({Objective::hot, 1.0}), kPredicated);
  const auto is_other = [](const std::string& config) { return config != kPredicated; };
  EXPECT_EQ(winner_by({Objective::hot, 1.0}, is_other), kWholeTiles);
}

TEST_F(RuleTest, ALimitOfErrorsThatRefusesTheFastestLetsTheFastestWithinDecideWhoIsTied) {
  store(kWholeTiles, 100, 150, Standing::tied, 4e-7, true);
  store(kPredicated, 102, 130, Standing::tied, 2e-7, true);
  store(third_, 104, 100, Standing::tied, 2e-7, true);  // within 3 % of the second only
  EXPECT_EQ(winner(), kPredicated);
  EXPECT_EQ(winner_by({Objective::hot, 1.0}), third_);
}

TEST_F(RuleTest, ARowWhoseTwinsWereNotVerifiedIsNotWithinALimitOfErrors) {
  store(kPredicated, 100, 130, Standing::finals, 2e-7, false);
  EXPECT_EQ(winner_by({Objective::hot, 1.0}), third_);
  store(kPredicated, 100, 130, Standing::finals, 2e-7, true);
  EXPECT_EQ(winner_by({Objective::hot, 1.0}), kPredicated);
}

TEST_F(RuleTest, RowsOfRunsWithoutCublasErrorOrOfOtherKernelsDoNotCount) {
  database_.begin_run({"0.1.0", "13.0", "580.159.04", "another", 8});
  store(kWholeTiles, 90, 90, Standing::tied, 1e-9);
  EXPECT_EQ(winner_by({Objective::hot, 1.0}), third_);
  EXPECT_EQ(winner_by({Objective::cold}), kWholeTiles);
  EXPECT_TRUE(database_.winners_by({Objective::cold}, "sm_86", {{"naive", "another"}}).empty());
}

TEST_F(DatabaseTest, RecordsComeInTheOrderFirstStored) {
  Database database = writable(file_);
  database.store(kA6000, k1024, kWholeTiles, kHash, measured(60), Source::measured);
  database.store(kA6000, k1024, kPredicated, kHash, measured(70), Source::measured);
  const auto configs = [&] {
    std::vector<std::string> found;
    for (const Record& row : database.records(kA6000, k1024)) found.push_back(row.config);
    return found;
  };
  std::vector<std::string> order = {kWholeTiles, kPredicated};
  EXPECT_EQ(configs(), order);
  // As the finals do.
  database.store(kA6000, k1024, kWholeTiles, kHash, measured(61), Source::measured);
  EXPECT_EQ(configs(), order);
  database.store(kA10, k1024, kPredicated, kHash, measured(70), Source::measured);
  database.store(kA10, k1024, kWholeTiles, kHash, measured(60), Source::measured);
  order.clear();
  for (const Record& row : database.records(kA10, k1024)) order.push_back(row.config);
  EXPECT_EQ(order, (std::vector<std::string>{kPredicated, kWholeTiles}));
}

TEST_F(DatabaseTest, RowsThatNoLongerCountComeInTheOrderStoredToo) {
  {
    Database database = writable(file_);
    store_measured(database, kA6000, "1024x1024x1024", kWholeTiles, 100);
    store_measured(database, kA6000, "256x256x256", kPredicated, 9);
    store_measured(database, kA6000, "1024x1024x1024", kPredicated, 90);
    store_measured(database, kA6000, "1024x1024x1024", kWholeTiles, 99);
  }
  std::vector<std::pair<double, bool>> found;
  Database(file_, Database::Mode::read_only).for_each_stored([&](const Record& row, bool counts) {
    found.emplace_back(row.outcome.timing->median_us, counts);
  });
  EXPECT_THAT(found, testing::ElementsAre(std::pair(9, true), std::pair(100, false),
                                          std::pair(90, true), std::pair(99, true)));
}

TEST_F(DatabaseTest, KeepsLayoutsAndBatchesApart) {
  Database database = writable(file_);
  double us = 10;
  const std::string problems[] = {"64x64x64",           "64x64x64:layout=nt",
                                  "64x64x64:layout=tn", "64x64x64:layout=tt",
                                  "64x64x64:batch=8",   "64x64x64:layout=tt:align=1:batch=65535"};
  for (const std::string& problem : problems) {
    store_measured(database, kA6000, problem, kPredicated, us++);
  }
  us = 10;
  for (const std::string& problem : problems) {
    const std::vector<Record> rows = database.records(kA6000, parse_problem(problem));
    ASSERT_EQ(rows.size(), 1u) << problem;
    EXPECT_EQ(to_string(rows[0].problem), problem);
    EXPECT_EQ(rows[0].outcome.timing->median_us, us++);
  }
  const Problem last = parse_problem(problems[5]);
  EXPECT_EQ(last.layout, Layout::tt);
  EXPECT_EQ(last.batch, 65535);
  SQLite::Database raw(file_);
  SQLite::Statement row(raw, "SELECT layout, alignment, batch FROM problems WHERE text = ?");
  row.bind(1, problems[5]);
  ASSERT_TRUE(row.executeStep());
  EXPECT_EQ(row.getColumn(0).getString(), "tt");
  EXPECT_EQ(row.getColumn(1).getInt(), 1);
  EXPECT_EQ(row.getColumn(2).getInt(), 65535);
}

TEST_F(DatabaseTest, TheSpeedOfABatchIsThatOfAllItsProducts) {
  Database database = writable(file_);
  store_measured(database, kA6000, "100x100x100:batch=50", kPredicated, 10);
  SQLite::Database raw(file_);
  SQLite::Statement row(raw, "SELECT tflops FROM winners");
  ASSERT_TRUE(row.executeStep());
  EXPECT_DOUBLE_EQ(row.getColumn(0).getDouble(), 10);  // 2 * 100^3 * 50 / 10 us
}

TEST_F(DatabaseTest, KeepsHowATimingWasTaken) {
  Database database = writable(file_);
  Timing whole = timing(61);
  whole.cold_us = 75.5;
  whole.conditions = GpuConditions{1980, 612.5, 61};
  whole.disturbance = "the clock was throttled";
  Outcome outcome = measured(61);
  outcome.timing = whole;
  outcome.standing = Standing::tied;
  database.store_baseline(kA6000, k1024, {"cublasSgemm", whole});
  database.store(kA6000, k1024, kWholeTiles, kHash, outcome, Source::measured);
  const Record record = database.records(kA6000, k1024).at(0);
  EXPECT_EQ(record.outcome, outcome);
  EXPECT_EQ(record.baseline->timing, whole);
}

TEST_F(DatabaseTest, KeepsEveryDispositionWithItsReason) {
  Database database = writable(file_);
  const Disposition all[] = {Disposition::rejected,      Disposition::compile_failed,
                             Disposition::launch_failed, Disposition::wrong_result,
                             Disposition::timed_out,     Disposition::crashed};
  for (const Disposition disposition : all) {
    database.store(kA6000, k1024, kWholeTiles, kHash,
                   failed(disposition, "because of " + std::string(to_string(disposition))),
                   Source::measured);
    const std::vector<Record> records = database.records(kA6000, k1024);
    ASSERT_EQ(records.size(), 1u);  // the same key: the latest
    EXPECT_EQ(records[0].outcome.disposition, disposition);
    EXPECT_EQ(records[0].outcome.detail, "because of " + std::string(to_string(disposition)));
    EXPECT_FALSE(records[0].outcome.resources.has_value());
    EXPECT_FALSE(records[0].outcome.timing.has_value());
    EXPECT_FALSE(records[0].outcome.predicted_us.has_value());
  }
}

TEST_F(DatabaseTest, RefusesAFailureWithoutAReason) {
  Database database = writable(file_);
  EXPECT_THROW(database.store(kA6000, k1024, kWholeTiles, kHash, failed(Disposition::crashed, ""),
                              Source::measured),
               DatabaseError);
  EXPECT_TRUE(database.records(kA6000, k1024).empty());
}

TEST_F(DatabaseTest, RefusesAMeasuredWinnerWithoutATimeAndAZeroTime) {
  Database database = writable(file_);
  EXPECT_THROW(database.store(kA6000, k1024, kWholeTiles, kHash, predicted(10), Source::measured),
               DatabaseError);
  EXPECT_THROW(database.store(kA6000, k1024, kWholeTiles, kHash, measured(0), Source::measured),
               DatabaseError);
  EXPECT_TRUE(database.records(kA6000, k1024).empty());
}

TEST_F(DatabaseTest, StoresTheModelsInfinityAsNoTime) {
  Database database = writable(file_);
  Outcome outcome = failed(Disposition::rejected, "no CTA fits an SM");
  outcome.predicted_us = std::numeric_limits<double>::infinity();
  database.store(kA6000, k1024, kWholeTiles, kHash, outcome, Source::predicted);
  EXPECT_FALSE(database.records(kA6000, k1024).at(0).outcome.predicted_us.has_value());
}

TEST_F(DatabaseTest, KeepsRowsOfAnotherHashOrSourceApart) {
  Database database = writable(file_);
  store_measured(database, kA6000, "1024x1024x1024", kWholeTiles, 60);
  store_measured(database, kA6000, "1024x1024x1024", kWholeTiles, 70, "another hash");
  store_predicted(database, kA6000, "1024x1024x1024", kWholeTiles, 80);
  store_measured(database, kA6000, "1024x1024x1024", kWholeTiles, 61);
  const std::vector<Record> records = database.records(kA6000, k1024);
  ASSERT_EQ(records.size(), 3u);
  EXPECT_EQ(records[0].outcome.timing->median_us, 61);
}

TEST_F(DatabaseTest, KeepsSeedsAboveTheSignedRange) {
  Database database(file_, Database::Mode::create_or_open);
  RunInfo run = kRun;
  run.seed = 18446744073709551615u;
  run.driver_version = "";
  database.begin_run(run);
  store_measured(database, kA6000, "1024x1024x1024", kWholeTiles, 60);
  EXPECT_EQ(database.records(kA6000, k1024).at(0).run.seed, 18446744073709551615u);
  EXPECT_EQ(database.records(kA6000, k1024).at(0).run.driver_version, "");
  EXPECT_THAT(shell("SELECT driver_version FROM runs"), ElementsAre("NULL"));
}

TEST_F(DatabaseTest, AStandingChangesWithoutTheRunThatTimedIt) {
  Database database = writable(file_);
  store_measured(database, kA6000, "1024x1024x1024", kWholeTiles, 60);
  const Record before = database.records(kA6000, k1024).at(0);
  RunInfo later = kRun;
  later.driver_version = "999.1";
  database.begin_run(later);
  database.set_standing(kA6000, k1024, kWholeTiles, kHash, Standing::finals);
  Record after = database.records(kA6000, k1024).at(0);
  EXPECT_EQ(after.outcome.standing, Standing::finals);
  EXPECT_EQ(after.run.driver_version, before.run.driver_version);
  after.outcome.standing = before.outcome.standing;
  EXPECT_EQ(after.outcome, before.outcome);
}

TEST_F(DatabaseTest, WhatIsStoredTogetherIsCommittedAtOnceOrNotAtAll) {
  Database database = writable(file_);
  EXPECT_THROW(database.together([&] {
    store_measured(database, kA6000, "1024x1024x1024", kWholeTiles, 60);
    database.store_baseline(kA6000, k1024, {"cublasSgemm", timing(50)});
    throw std::runtime_error("interrupted");
  }),
               std::runtime_error);
  EXPECT_TRUE(database.records(kA6000, k1024).empty());
  database.together([&] {
    store_measured(database, kA6000, "1024x1024x1024", kWholeTiles, 60);
    store_measured(database, kA6000, "1024x1024x1024", kPredicated, 70);
    const Database other(file_, Database::Mode::read_only);
    EXPECT_TRUE(other.records(kA6000, k1024).empty());
  });
  EXPECT_EQ(database.records(kA6000, k1024).size(), 2u);
}

TEST_F(DatabaseTest, ACommandOfAnyBytesIsStoredAsText) {
  Database database = writable(file_);
  RunInfo run = kRun;
  run.command = "tune --sizes @\xff.txt";
  database.begin_run(run);
  store_measured(database, kA6000, "1024x1024x1024", kWholeTiles, 60);
  EXPECT_EQ(database.records(kA6000, k1024).at(0).run.command, "tune --sizes @\xEF\xBF\xBD.txt");
}

TEST_F(DatabaseTest, ComparesWithTheFastestBaselineOfTheSameRunWhateverTheOrder) {
  Database database = writable(file_);
  database.store_baseline(kA6000, k1024, {"cublasSgemm", timing(50)});
  store_measured(database, kA6000, "1024x1024x1024", kWholeTiles, 60);
  database.store_baseline(kA6000, k1024, {"cublasLtMatmul", timing(48)});
  EXPECT_EQ(database.records(kA6000, k1024).at(0).baseline->name, "cublasLtMatmul");
  database.begin_run(kRun);
  store_measured(database, kA6000, "1024x1024x1024", kPredicated, 65);
  const std::vector<Record> records = database.records(kA6000, k1024);
  EXPECT_EQ(records.at(0).baseline->name, "cublasLtMatmul");
  EXPECT_EQ(records.at(0).config, kWholeTiles);
  EXPECT_FALSE(records.at(1).baseline.has_value());  // its run timed none
}

TEST_F(DatabaseTest, StoringWithoutARunSaysSo) {
  Database database(file_, Database::Mode::create_or_open);
  try {
    store_measured(database, kA6000, "1024x1024x1024", kWholeTiles, 60);
    FAIL() << "stored without a run";
  } catch (const DatabaseError& error) {
    EXPECT_THAT(error.what(), HasSubstr("no run"));
  }
}

TEST_F(DatabaseTest, WinnersPutMeasuredBeforePredictedThenTimeThenText) {
  Database database = writable(file_);
  const auto texts = [&] {
    std::vector<std::string> found;
    for (const Record& record : database.winners("sm_86", kHashes)) {
      found.push_back(to_string(record.problem) + " " + record.config.substr(14, 6) + " " +
                      std::string(to_string(record.source)));
    }
    return found;
  };
  store_predicted(database, kA6000, "1024x1024x1024", kWholeTiles, 1);
  EXPECT_THAT(texts(), ElementsAre("1024x1024x1024 BM=128 predicted"));
  store_measured(database, kA6000, "1024x1024x1024", kWholeTiles, 61);
  EXPECT_THAT(texts(), ElementsAre("1024x1024x1024 BM=128 measured"));
  store_measured(database, kA6000, "1024x1024x1024", kPredicated, 60);
  EXPECT_THAT(texts(), ElementsAre("1024x1024x1024 BM=32, measured"));
  store_measured(database, kA6000, "512x512x512", kPredicated, 9);
  store_measured(database, kA6000, "512x512x512", kWholeTiles, 9);
  store_measured(database, {"sm_90", "NVIDIA H100", 132}, "512x512x512", kPredicated, 1);
  database.store(kA6000, k1024, kWholeTiles, "other", failed(Disposition::rejected, "spills"),
                 Source::predicted);
  EXPECT_THAT(texts(),
              ElementsAre("512x512x512 BM=128 measured", "1024x1024x1024 BM=32, measured"));
}

// The time of `best` over a million rows: bench/large_database.py.
TEST_F(DatabaseTest, SecondsOnTheGpuAreThoseOfTheProblemsAlignments) {
  Database database = writable(file_);
  Outcome outcome = measured(60);
  outcome.gpu_s = 0.125;
  database.store(kA6000, parse_problem("64x64x64:align=4/4/1"), kWholeTiles, kHash, outcome,
                 Source::measured);
  EXPECT_EQ(database.gpu_seconds(kA6000, parse_problem("64x64x64:align=4/4/1")), 0.125);
  EXPECT_EQ(database.gpu_seconds(kA6000, parse_problem("64x64x64:align=1")), std::nullopt);
  EXPECT_EQ(database.gpu_seconds(kA6000, parse_problem("64x64x64")), std::nullopt);
  EXPECT_EQ(database.gpu_seconds(kA10, parse_problem("64x64x64:align=4/4/1")), std::nullopt);
}

TEST_F(DatabaseTest, WinnersAreFoundWithoutVisitingEveryMeasurement) {
  Database database = writable(file_);
  store_measured(database, kA6000, "1024x1024x1024", kWholeTiles, 60);
  SQLite::Database db(file_.string(), SQLite::OPEN_READWRITE);
  const JudgedWinners judged(db, kHashes);
  SQLite::Statement plan(db, "EXPLAIN QUERY PLAN " + select_winners());
  std::string text;
  while (plan.executeStep()) text += plan.getColumn(3).getString() + "\n";
  EXPECT_THAT(text, HasSubstr("INDEX measurements_by_time (device_id=? AND problem_id=?"));
  EXPECT_THAT(text, Not(HasSubstr("measurements_of_candidate"))) << text;
  EXPECT_THAT(text, Not(HasSubstr("SCAN m"))) << text;
}

TEST_F(DatabaseTest, ARekeyedRowCountsForTodaysKernelAndRemembersWhatWasTried) {
  Database database(file_, Database::Mode::create_or_open);
  database.begin_run(kRun, std::vector<KernelText>{{"vectorized_2d", "old", "old tokens"}});
  const DeviceKey kOtherArch{"sm_90", "NVIDIA H100", 132};
  store_measured(database, kA6000, "1024x1024x1024", kWholeTiles, 60, "old");
  store_measured(database, kA6000, "1024x1024x1024", kWholeTiles, 61, "old");  // the later counts
  store_measured(database, kA6000, "1024x1024x1024", kPredicated, 70, "old");
  store_measured(database, kOtherArch, "1024x1024x1024", kWholeTiles, 62, "old");
  store_measured(database, kA10, "512x512x512", kWholeTiles, 63, "unknown");

  EXPECT_TRUE(database.has_other_kernel_texts(kHashes));
  std::vector<OtherKernel> others = database.other_kernels(kHashes);
  ASSERT_EQ(others.size(), 2u);
  EXPECT_EQ(others[0].hash, "old");
  EXPECT_EQ(others[0].tokens, "old tokens");
  EXPECT_EQ(others[1].hash, "unknown");
  EXPECT_EQ(others[1].tokens, std::nullopt);
  ASSERT_EQ(others[0].uses.size(), 3u);
  EXPECT_EQ(others[0].uses[0].config, kWholeTiles);
  EXPECT_EQ(others[0].uses[0].arch, "sm_86");
  EXPECT_EQ(others[0].uses[0].rows, 1);

  database.rekey(others[0], others[0].uses[0], {"vectorized_2d", kHash, "new tokens"});
  const std::vector<Record> winners = database.winners("sm_86", kHashes);
  ASSERT_EQ(winners.size(), 1u);
  EXPECT_EQ(winners[0].outcome.timing->median_us, 61);
  EXPECT_TRUE(database.winners("sm_90", kHashes).empty()) << "another architecture was not proved";
  const std::string rows =
      "SELECT k.hash, was.hash, m.counts, k.is_current FROM measurements m "
      "JOIN kernels k ON k.id = m.kernel_id LEFT JOIN kernels was ON was.id = m.measured_kernel_id "
      "ORDER BY m.id";
  EXPECT_THAT(shell(rows), ElementsAre(kHash + "|old|0|1", kHash + "|old|1|1", "old|NULL|1|0",
                                       "old|NULL|1|0", "unknown|NULL|1|0"));
  // And back.
  others = database.other_kernels({{"vectorized_2d", "old"}});
  ASSERT_EQ(others.size(), 2u);
  EXPECT_EQ(others[1].hash, kHash);
  database.rekey(others[1], others[1].uses.at(0), {"vectorized_2d", "old", "old tokens"});
  EXPECT_THAT(shell(rows), ElementsAre("old|NULL|0|1", "old|NULL|1|1", "old|NULL|1|1",
                                       "old|NULL|1|1", "unknown|NULL|1|0"));
}

TEST_F(DatabaseTest, OnlyTheBestAndFinalsAreRivals) {
  Database database(file_, Database::Mode::create_or_open);
  database.begin_run(kRun, std::vector<KernelText>{{"vectorized_2d", "old", "old tokens"}});
  Outcome search = measured(60);
  search.standing = Standing::search;
  database.store(kA6000, k1024, kWholeTiles, "old", search, Source::measured);
  search.timing = timing(70);
  database.store(kA6000, k1024, kPredicated, "old", search, Source::measured);
  const std::vector<OtherKernel> others = database.other_kernels(kHashes);
  ASSERT_EQ(others.at(0).uses.size(), 2u);
  EXPECT_TRUE(others[0].uses[0].is_rival) << "the best: " << others[0].uses[0].config;
  EXPECT_FALSE(others[0].uses[1].is_rival);
}

TEST_F(DatabaseTest, WinnersAreOfTheKernelsThatAreAskedFor) {
  Database database = writable(file_);
  store_measured(database, kA6000, "1024x1024x1024", kPredicated, 60, "stale");
  store_measured(database, kA6000, "1024x1024x1024", kWholeTiles, 61);
  const auto configs = [&](const KernelHashes& hashes) {
    std::vector<std::string> found;
    for (const Record& record : database.winners("sm_86", hashes)) found.push_back(record.config);
    return found;
  };
  EXPECT_THAT(configs(kHashes), ElementsAre(kWholeTiles));
  EXPECT_THAT(configs({{"vectorized_2d", "stale"}}), ElementsAre(kPredicated));
  EXPECT_THAT(configs({{"naive", kHash}}), testing::IsEmpty());
}

TEST_F(DatabaseTest, AViewOfTheFileJudgesByTheProgramThatWroteLast) {
  const KernelText mine{"vectorized_2d", kHash, "tokens"};
  const KernelText edited{"vectorized_2d", "edited", "other tokens"};
  const auto winner = [&] { return shell("SELECT config, holds FROM winners").at(0); };
  {
    Database database(file_, Database::Mode::create_or_open);
    database.begin_run(kRun, std::vector{mine});
    store_measured(database, kA6000, "1024x1024x1024", kWholeTiles, 61);
    database.begin_run(kRun, std::vector{edited}, /*built_in=*/false);
    store_measured(database, kA6000, "1024x1024x1024", kPredicated, 60, "edited");
  }
  EXPECT_EQ(winner(), kWholeTiles + "|1");
  Database(file_, Database::Mode::create_or_open).begin_run(kRun, std::vector{edited});
  EXPECT_EQ(winner(), kPredicated + "|1");
  Database(file_, Database::Mode::create_or_open)
      .begin_run(kRun, std::vector{KernelText{"vectorized_2d", "next", "tokens"}});
  EXPECT_EQ(winner(), kPredicated + "|0");
  EXPECT_THAT(shell("SELECT tokens FROM kernels ORDER BY id"),
              ElementsAre("tokens", "other tokens"));
}

// One config, measured again and again: rows are kept, and one of them counts.
TEST_F(DatabaseTest, EveryMeasurementIsKeptAndTheLatestFinalsCount) {
  Database database = writable(file_);
  const auto store = [&](double us, Standing standing) {
    Outcome outcome = measured(us);
    outcome.standing = standing;
    database.store(kA6000, k1024, kWholeTiles, kHash, outcome, Source::measured);
    return database.records(kA6000, k1024).at(0).outcome.timing->median_us;
  };
  EXPECT_EQ(store(60, Standing::search), 60);
  EXPECT_EQ(store(62, Standing::search), 62);  // the latest, not the least
  EXPECT_EQ(store(64, Standing::finals), 64);
  EXPECT_EQ(store(50, Standing::search), 64);  // finals before a search
  EXPECT_EQ(store(63, Standing::tied), 63);
  EXPECT_EQ(database.records(kA6000, k1024).size(), 1u);
  EXPECT_EQ(database.superseded_count(), 4);
  EXPECT_THAT(shell("SELECT median_us FROM measurements ORDER BY id"),
              ElementsAre("60.0", "62.0", "64.0", "50.0", "63.0"));
  EXPECT_EQ(database.winners("sm_86", kHashes).at(0).outcome.timing->median_us, 63);
}

TEST_F(DatabaseTest, AFailureCountsUntilALaterMeasurementRefutesIt) {
  Database database = writable(file_);
  store_measured(database, kA6000, "1024x1024x1024", kWholeTiles, 60);
  database.store(kA6000, k1024, kWholeTiles, kHash, failed(Disposition::wrong_result, "C[0,0]"),
                 Source::measured);
  EXPECT_EQ(database.records(kA6000, k1024).at(0).outcome.disposition, Disposition::wrong_result);
  EXPECT_TRUE(database.winners("sm_86", kHashes).empty());
  store_measured(database, kA6000, "1024x1024x1024", kWholeTiles, 61);
  EXPECT_EQ(database.winners("sm_86", kHashes).at(0).outcome.timing->median_us, 61);
}

TEST_F(DatabaseTest, KeepsWhatARunRestsOn) {
  Database database(file_, Database::Mode::create_or_open);
  RunInfo run = kRun;
  run.uuid = "00000000-0000-4000-8000-000000000001";
  run.host = "node7";
  run.cublas_version = "13.1.0";
  run.gpu = {700, 2619, "1g.10gb"};
  database.begin_run(run);
  Outcome outcome = measured(60);
  outcome.compile_s = 0.25;
  outcome.gpu_s = 0.125;
  database.store(kA6000, k1024, kWholeTiles, kHash, outcome, Source::measured);
  const Record record = database.records(kA6000, k1024).at(0);
  EXPECT_EQ(record.outcome, outcome);
  EXPECT_EQ(record.run.uuid, run.uuid);
  EXPECT_EQ(record.run.host, "node7");
  EXPECT_EQ(record.run.cublas_version, "13.1.0");
  EXPECT_EQ(record.run.gpu, run.gpu);
  database.begin_run(kRun);
  database.store_baseline(kA6000, parse_problem("64x64x64"), {"cublasSgemm 13.2.0", timing(5)});
  store_measured(database, kA6000, "64x64x64", kWholeTiles, 6);
  const Record other = database.records(kA6000, parse_problem("64x64x64")).at(0);
  EXPECT_THAT(other.run.uuid, MatchesRegex("[0-9a-f-]{36}"));
  EXPECT_EQ(other.run.cublas_version, "13.2.0");
  EXPECT_EQ(other.run.gpu, GpuSettings{});
}

TEST_F(DatabaseTest, ListsDevices) {
  Database database = writable(file_);
  EXPECT_TRUE(database.devices().empty());
  store_measured(database, kA6000, "512x512x512", kPredicated, 60);
  store_measured(database, kA10, "512x512x512", kPredicated, 60);
  EXPECT_THAT(database.devices(), ElementsAre(kA10, kA6000));
}

TEST_F(DatabaseTest, WinnersViewShowsTheBestRowAndItsSpeed) {
  {
    Database database = writable(file_);
    database.store_baseline(kA6000, k1024, {"cublasSgemm", timing(50)});
    store_predicted(database, kA6000, "1024x1024x1024", kWholeTiles, 1);
    store_measured(database, kA6000, "1024x1024x1024", kPredicated, 100);
    store_measured(database, kA6000, "1024x1024x1024", kWholeTiles, 200);
    store_predicted(database, kA10, "2048x1024x512", kWholeTiles, 40);
  }
  EXPECT_THAT(shell("SELECT arch, device, sm_count, problem, M, N, K, config, source, median_us, "
                    "round(tflops, 3), baseline, baseline_us, speedup FROM winners"),
              ElementsAre("sm_86|NVIDIA A10|72|2048x1024x512|2048|1024|512|" + kWholeTiles +
                              "|predicted|NULL|53.687|NULL|NULL|NULL",
                          "sm_86|NVIDIA RTX A6000|84|1024x1024x1024|1024|1024|1024|" + kPredicated +
                              "|measured|100.0|21.475|cublasSgemm|50.0|0.5"));
  EXPECT_THAT(shell("SELECT predicted_us FROM winners"), ElementsAre("40.0", "110.0"));
}

TEST_F(DatabaseTest, OutcomesViewHasExactlyItsPublicColumns) {
  {
    Database database = writable(file_);
    database.store_baseline(kA6000, k1024, {"cublasSgemm", timing(50)});
    database.store(kA6000, k1024, kWholeTiles, kHash, failed(Disposition::rejected, "spills"),
                   Source::predicted);
    store_measured(database, kA6000, "1024x1024x1024", kPredicated, 100);
  }
  EXPECT_THAT(shell("SELECT name FROM pragma_table_info('outcomes')"),
              ElementsAre("arch", "device", "problem", "config", "disposition", "reason", "source",
                          "median_us", "baseline_us"));
  EXPECT_THAT(shell("SELECT * FROM outcomes"),
              ElementsAre("sm_86|NVIDIA RTX A6000|1024x1024x1024|" + kWholeTiles +
                              "|rejected|spills|predicted|NULL|50.0",
                          "sm_86|NVIDIA RTX A6000|1024x1024x1024|" + kPredicated +
                              "|ok|NULL|measured|100.0|50.0"));
}

// A column's lines in its table's definition: up to the next line that is indented as little.
std::string definition_of(const std::string& column, const std::string& sql) {
  const std::size_t begin = sql.find("\n  " + column + " ");
  if (begin == std::string::npos) return "";
  std::size_t end = begin;
  do {
    end = sql.find("\n  ", end + 1);
  } while (end != std::string::npos && sql[end + 3] == ' ');
  return sql.substr(begin, end - begin);
}

TEST_F(DatabaseTest, EveryColumnOfTheSchemaIsExplained) {
  writable(file_);
  for (const std::string table :
       {"devices", "problems", "configs", "kernels", "runs", "baselines", "measurements"}) {
    const std::string sql = shell("SELECT sql FROM sqlite_master WHERE name = '" + table + "'")[0];
    for (const std::string& column :
         shell("SELECT name FROM pragma_table_info('" + table + "') WHERE name <> 'id'")) {
      EXPECT_THAT(definition_of(column, sql), HasSubstr("-- ")) << table << "." << column;
    }
  }
}

TEST_F(DatabaseTest, TheFileIsKnownByItsApplicationIdAndVersion) {
  writable(file_);
  EXPECT_THAT(shell("PRAGMA application_id"), ElementsAre("1734700397"));
  EXPECT_THAT(shell("PRAGMA user_version"), ElementsAre("4"));
  EXPECT_THAT(shell("PRAGMA integrity_check"), ElementsAre("ok"));
}

TEST_F(DatabaseTest, KeepsTypesApart) {
  const std::vector<std::string> texts = {"512x512x512", "512x512x512:type=bf16",
                                          "512x512x512:type=bf16/bf16/f32/f32",
                                          "512x512x512:type=f16"};
  {
    Database database = writable(file_);
    double time_us = 4;
    for (const std::string& text : texts) {
      store_measured(database, kA6000, text, kWholeTiles, ++time_us);
    }
  }
  EXPECT_THAT(shell("SELECT type_a || type_b || type_c || type_compute FROM problems ORDER BY id"),
              ElementsAre("f32f32f32f32", "bf16bf16bf16f32", "bf16bf16f32f32", "f16f16f16f32"));
  const Database database(file_, Database::Mode::read_only);
  double time_us = 4;
  for (const std::string& text : texts) {
    const std::vector<Record> records = database.records(kA6000, parse_problem(text));
    ASSERT_EQ(records.size(), 1u) << text;
    EXPECT_EQ(records[0].problem, parse_problem(text));
    EXPECT_EQ(records[0].outcome.time_us(), ++time_us);
  }
  EXPECT_EQ(database.winners("sm_86", kHashes).size(), texts.size());
}

TEST_F(DatabaseTest, PassesOverProblemsOfTypesThatThisProgramDoesNotKnow) {
  {
    Database database = writable(file_);
    store_measured(database, kA6000, "1024x1024x1024", kWholeTiles, 60);
    store_measured(database, kA6000, "512x512x512", kWholeTiles, 6);
  }
  {
    SQLite::Database db(file_.string(), SQLite::OPEN_READWRITE);
    db.exec("UPDATE problems SET text = '512x512x512:f16', type_a = 'f16' WHERE M = 512");
  }
  const Database database(file_, Database::Mode::read_only);
  const std::vector<Record> records = database.winners("sm_86", kHashes);
  ASSERT_EQ(records.size(), 1u);
  EXPECT_EQ(records[0].problem, k1024);
}

TEST_F(DatabaseTest, RefusesRowsThatNoVersionStored) {
  {
    Database database = writable(file_);
    database.store_baseline(kA6000, k1024, {"cublasSgemm", timing(130)});
    store_measured(database, kA6000, "1024x1024x1024", kWholeTiles, 60);
    store_predicted(database, kA6000, "1024x1024x1024", kPredicated, 70);
  }
  const std::string sound = read_file(file_);
  for (const char* damage : {
           "UPDATE measurements SET source = 'measure'",
           "UPDATE measurements SET standing = 'won'",
           "UPDATE measurements SET samples = '{}' WHERE samples IS NOT NULL",
           "UPDATE measurements SET samples = '[1e999]' WHERE samples IS NOT NULL",
           "UPDATE configs SET text = CAST(x'61ff2f' || id AS TEXT)",
           "UPDATE measurements SET predicted_us = NULL WHERE source = 'predicted'",
           "UPDATE measurements SET median_us = NULL",
           "UPDATE runs SET seed = 'seven'",
           "UPDATE runs SET seed = '99999999999999999999999'",
           "UPDATE problems SET text = '1024'",
           "UPDATE measurements SET predicted_us = -1",
           "UPDATE measurements SET predicted_us = 9e999",
           "UPDATE measurements SET predicted_us = 'soon'",
           "UPDATE measurements SET registers = -1",
           "UPDATE measurements SET registers = 2147483648",
           "UPDATE measurements SET registers = 1.5",
           "UPDATE measurements SET median_us = 61 WHERE median_us IS NOT NULL",
           "UPDATE measurements SET cold_us = -1",
           "UPDATE measurements SET launches_per_sample = 0",
           "UPDATE measurements SET samples = '[\"60\"]' WHERE samples IS NOT NULL",
           "UPDATE measurements SET samples = '[-60, 60, 61]' WHERE samples IS NOT NULL",
           "UPDATE measurements SET sm_mhz = 1980, power_w = 9e999, temperature_c = 5",
           "UPDATE configs SET text = x'61' || id",
           "UPDATE configs SET text = 'naive/BM=' || id || hex(zeroblob(1000000))",
           "UPDATE measurements SET reason = hex(zeroblob(2000000))",
           "UPDATE measurements SET reason = hex(zeroblob(20000000))",
           "UPDATE devices SET sm_count = 2147483648",
           "UPDATE devices SET sm_count = -84",
           "UPDATE devices SET name = ''",
           "UPDATE baselines SET samples = '[1]'",
           "UPDATE baselines SET median_us = -130",
           "UPDATE runs SET seed = '-1'",
       }) {
    SCOPED_TRACE(damage);
    {
      SQLite::Database db(file_.string(), SQLite::OPEN_READWRITE);
      db.exec("PRAGMA ignore_check_constraints = ON");
      db.exec(damage);
    }
    const Database database(file_, Database::Mode::read_only);
    try {
      database.for_each_record([](const Record&) {});
      ADD_FAILURE() << "accepted";
    } catch (const DatabaseError& error) {
      EXPECT_THAT(error.what(), HasSubstr(file_.string() + "' is damaged"));
    }
    std::ofstream(file_, std::ios::binary | std::ios::trunc) << sound;
  }
}

TEST_F(DatabaseTest, ListsAllBaselinesOfTheRowsOwnRun) {
  Database database = writable(file_);
  database.store_baseline(kA6000, k1024, {"cublasSgemm", timing(50)});
  database.store_baseline(kA6000, k1024, {"cublasLt", timing(48)});
  database.store_baseline(kA6000, parse_problem("64x64x64"), {"cublasSgemm", timing(2)});
  database.store(kA6000, k1024, kWholeTiles, kHash, measured(60), Source::measured);
  const Record row = database.records(kA6000, k1024).at(0);
  EXPECT_EQ(database.baselines(row),
            (std::vector<Baseline>{{"cublasSgemm", timing(50)}, {"cublasLt", timing(48)}}));
  EXPECT_EQ(row.baseline->name, "cublasLt");

  // Another run's are not the row's; those of the run that times it again are.
  database.begin_run(kRun);
  database.store_baseline(kA6000, k1024, {"cublasSgemm", timing(51)});
  EXPECT_EQ(database.baselines(row).size(), 2u);
  database.store(kA6000, k1024, kWholeTiles, kHash, measured(61), Source::measured);
  EXPECT_EQ(database.baselines(row), (std::vector<Baseline>{{"cublasSgemm", timing(51)}}));
}

// One judgement for both: nothing is stored that would be damage to a reader.
TEST_F(DatabaseTest, RefusesToStoreWhatItWouldNotRead) {
  Database database = writable(file_);
  const auto refusal = [&](const DeviceKey& device, const std::string& config,
                           const Outcome& outcome) -> std::string {
    try {
      database.store(device, k1024, config, kHash, outcome, Source::measured);
      return "";
    } catch (const DatabaseError& error) {
      return error.what();
    }
  };
  Outcome wrong_median = measured(60), no_samples = measured(60), negative = measured(60),
          infinite = measured(60), below = measured(60);
  wrong_median.timing->median_us = 59;
  no_samples.timing->samples_us.clear();
  negative.resources->registers = -1;
  infinite.timing->cold_us = std::numeric_limits<double>::infinity();
  below.predicted_us = -1;
  EXPECT_THAT(refusal(kA6000, kWholeTiles, wrong_median), HasSubstr("not the median"));
  EXPECT_THAT(refusal(kA6000, kWholeTiles, no_samples), HasSubstr("its samples are none"));
  EXPECT_THAT(refusal(kA6000, kWholeTiles, negative), HasSubstr("its registers is below 0"));
  EXPECT_THAT(refusal(kA6000, kWholeTiles, infinite), HasSubstr("its cold_us is not a time"));
  EXPECT_THAT(refusal(kA6000, kWholeTiles, below), HasSubstr("its predicted_us is not a time"));
  EXPECT_THAT(refusal({"sm_86", "\xff", 84}, kWholeTiles, measured(60)), HasSubstr("not UTF-8"));
  EXPECT_THAT(refusal({"sm_8 6", "A10", 84}, kWholeTiles, measured(60)), HasSubstr("its arch"));
  EXPECT_THAT(refusal(kA6000, "naive/BM", measured(60)), HasSubstr("its config is malformed"));
  EXPECT_TRUE(database.records(kA6000, k1024).empty());
}

TEST_F(DatabaseTest, AReasonOfAnyBytesAndAnyLengthIsStoredAsABoundedText) {
  Database database = writable(file_);
  const std::string log = "error: \xff" + std::string(5'000'000, 'x') + "\x1b[0m end";
  database.store(kA6000, k1024, kWholeTiles, kHash, failed(Disposition::compile_failed, log),
                 Source::measured);
  const std::string reason = database.records(kA6000, k1024).at(0).outcome.detail;
  EXPECT_LT(reason.size(), 110'000u);
  EXPECT_THAT(reason, AllOf(StartsWith("error: \xef\xbf\xbd"), EndsWith("\x1b[0m end")));
}

TEST(DefaultDatabasePathTest, TakesTheFirstThatIsSet) {
  EXPECT_EQ(default_database_path("/a/b.db", "/xdg", "/home/u"), "/a/b.db");
  EXPECT_EQ(default_database_path("", "/xdg", "/home/u"), "/xdg/gemm-tune/gemm-tune.db");
  EXPECT_EQ(default_database_path(nullptr, "", "/home/u"),
            "/home/u/.local/share/gemm-tune/gemm-tune.db");
  EXPECT_EQ(default_database_path(nullptr, "relative", "/home/u"),
            "/home/u/.local/share/gemm-tune/gemm-tune.db");
  EXPECT_THROW(default_database_path(nullptr, nullptr, nullptr), DatabaseError);
}

}  // namespace
}  // namespace gemm_tune
