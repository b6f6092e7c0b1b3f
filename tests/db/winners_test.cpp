// SPDX-License-Identifier: Apache-2.0
// Which of a problem's rows wins, for the program and for the views of the file.
#include <SQLiteCpp/SQLiteCpp.h>

#include <string>
#include <vector>

#include "db/database.h"
#include "db/schema/winners_view.h"
#include "tests/db/dump.h"
#include "tests/db/fixture.h"
#include "tests/matchers.h"

namespace gemm_tune {
namespace {

class WinnersViewTest : public DbTest {
 protected:
  // Through a connection of a person's own.
  std::vector<std::string> shell(const std::string& sql) { return rows_of(file_, sql); }
};

class WinnersTest : public WinnersViewTest {
 protected:
  void store(const std::string& config, const Outcome& outcome) {
    database_.store(kA6000, k1024, config, kRevision, outcome, Source::measured);
  }

  // With a cold time as slow as `cold_us`, and an error.
  void store(const std::string& config, double us, int rank, double cold_us, int cold_rank,
             double error = 1e-7, bool verified = true) {
    Outcome outcome = ranked(us, rank, verified);
    outcome.timing->cold_us = cold_us;
    outcome.ranking->cold_rank = cold_rank;
    outcome.error = error;
    store(config, outcome);
  }

  std::string winner(const WinnerRule& rule = {},
                     const Database::RowFilter& usable = nullptr) const {
    const std::vector<Record> found = database_.winners("sm_86", kRevisions, rule, usable);
    return found.empty() ? "none" : found.at(0).config;
  }

  Database database_ = writable(file_);
  const std::string third_ = "naive/BM=16,BN=16,COALESCED=1,PRED=0";
};

TEST_F(WinnersTest, TheFirstOfFinalsWinsWhateverTheTimes) {
  store(kWholeTiles, ranked(10, 2));
  store(kPredicated, ranked(10.2, 1));
  store(third_, timed_alone(9));
  EXPECT_EQ(winner(), kPredicated);
  EXPECT_THAT(shell("SELECT config, rank FROM winners"), ElementsAre(kPredicated + "|1"));
}

TEST_F(WinnersTest, WhereNoFinalsWereHeldTheFastestMeasuredRowWins) {
  store(kWholeTiles, timed_alone(11));
  store(kPredicated, timed_alone(10));
  EXPECT_EQ(winner(), kPredicated);
}

TEST_F(WinnersTest, AFinalistWhoseSpecialisationsWereNotVerifiedIsPassedOver) {
  store(kWholeTiles, ranked(10, 1));
  store(kPredicated, ranked(10.1, 2, false));
  store(third_, ranked(10.2, 3));
  const auto others = [&](const std::string& config, const Problem&) {
    return config != kWholeTiles;
  };
  EXPECT_EQ(winner({}, others), third_);
}

TEST_F(WinnersTest, AFinalistThatMayNotServeItsProblemGivesItsPlaceToTheNextThere) {
  const Problem other = packed_problem(512, 512, 512);
  for (const Problem& problem : {k1024, other}) {
    for (const auto& [config, rank] : {std::pair(kWholeTiles, 1), {kPredicated, 2}, {third_, 3}}) {
      database_.store(kA6000, problem, config, kRevision, ranked(10.0 + rank, rank),
                      Source::measured);
    }
  }
  const auto may_serve = [&](const std::string& config, const Problem& problem) {
    return problem != k1024 || config == third_;
  };
  std::vector<std::string> found;
  for (const Record& record : database_.winners("sm_86", kRevisions, {}, may_serve)) {
    found.push_back(record.config);
  }
  EXPECT_THAT(found, ElementsAre(kWholeTiles, third_));
  const auto none = [&](const std::string&, const Problem& problem) { return problem == other; };
  EXPECT_EQ(database_.winners("sm_86", kRevisions, {}, none).size(), 1u);
}

// Rows of one finals: of an earlier revision of a family, the next of another family.
TEST_F(WinnersTest, AFinalistOfAnotherRevisionGivesItsPlaceToTheNext) {
  store(kWholeTiles, ranked(10, 1));
  store(kPredicated, ranked(10.1, 2));
  store(third_, ranked(10.2, 3));
  store("tiled_2d/BM=32,BN=32,BK=16,TM=2,TN=2,PRED=0", timed_alone(9));
  const auto found = database_.winners(
      "sm_86", {{"vectorized_2d", "8"}, {"naive", kRevision}, {"tiled_2d", kRevision}});
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].config, third_);
}

TEST_F(WinnersTest, WithoutAVerifiedFinalistTheFastestMeasuredRowWins) {
  store(kWholeTiles, ranked(10, 1));
  store(kPredicated, ranked(10.1, 2, false));
  const auto others = [&](const std::string& config, const Problem&) {
    return config != kWholeTiles;
  };
  EXPECT_EQ(winner({}, others), kPredicated);
}

TEST_F(WinnersTest, FinalsNoLongerDecideOnceTheirWinnerWasTriedAgain) {
  store(kWholeTiles, ranked(10, 1));
  store(kPredicated, ranked(10.1, 2));
  database_.begin_run(kRun);
  store(kWholeTiles, ranked(10.5, 2));
  store(third_, ranked(10.4, 1));
  EXPECT_EQ(winner(), third_);  // later finals, though slower
}

TEST_F(WinnersTest, OfFinalsThatDoNotKnowEachOtherTheFasterDecide) {
  store(kWholeTiles, ranked(10, 1));
  database_.begin_run(kRun);
  store(third_, ranked(11, 1));
  EXPECT_EQ(winner(), kWholeTiles);
}

TEST_F(WinnersTest, ByColdTimesTheColdRankDecides) {
  store(kWholeTiles, 100, 1, 150, 2);
  store(kPredicated, 110, 2, 130, 1);
  store(third_, timed_alone(120));
  EXPECT_EQ(winner(), kWholeTiles);
  EXPECT_EQ(winner({Objective::cold}), kPredicated);
  EXPECT_EQ(winner({Objective::cold},
                   [](const auto& config, const auto&) { return config != kPredicated; }),
            kWholeTiles);
}

class ErrorLimitTest : public WinnersTest {
 protected:
  ErrorLimitTest() {
    database_.store_baseline(kA6000, k1024, {"cublasLt", "13.1.0", timing(40), 9e-7, 8});
    database_.store_baseline(kA6000, k1024, {"cublasSgemm", "13.1.0", timing(50), 2e-7});
    store(kWholeTiles, 100, 1, 150, 3, 4e-7);
    store(kPredicated, 110, 2, 140, 2, 3e-7);
    store(third_, 120, 3, 130, 1, 2e-7);
  }
};

TEST_F(ErrorLimitTest, TheFirstByRankWithinTheLimitWins) {
  EXPECT_EQ(winner({Objective::hot, 2.0}), kWholeTiles);
  EXPECT_EQ(winner({Objective::hot, 1.9}), kPredicated);
  EXPECT_EQ(winner({Objective::hot, 1.0}), third_);
  EXPECT_EQ(winner({Objective::cold, 2.0}), third_);
  EXPECT_EQ(winner({Objective::hot, 0.9}), "none");
}

TEST_F(ErrorLimitTest, ARowThatWasNotVerifiedIsNotWithinALimit) {
  database_.begin_run(kRun);
  database_.store_baseline(kA6000, k1024, {"cublasSgemm", "13.1.0", timing(50), 2e-7});
  store(kPredicated, 90, 1, 90, 1, 1e-7, false);
  EXPECT_EQ(winner({Objective::hot, 1.0}), third_);
  store(kPredicated, 90, 1, 90, 1, 1e-7, true);
  EXPECT_EQ(winner({Objective::hot, 1.0}), kPredicated);
}

TEST_F(ErrorLimitTest, RowsOfRunsWithoutCublasErrorOrOfOtherRevisionsDoNotCount) {
  database_.begin_run({"0.1.0", "13.0", "580.159.04", "another", 8});
  store(kWholeTiles, 90, 1, 90, 1, 1e-9);
  EXPECT_EQ(winner({Objective::hot, 1.9}), kPredicated);
  EXPECT_EQ(winner({Objective::cold}), kWholeTiles);
  EXPECT_TRUE(database_.winners("sm_86", {{"naive", "another"}}, {Objective::cold}).empty());
}

TEST_F(WinnersViewTest, WinnersPutMeasuredBeforePredictedThenTimeThenText) {
  Database database = writable(file_);
  const auto texts = [&] {
    std::vector<std::string> found;
    for (const Record& record : database.winners("sm_86", kRevisions)) {
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

// The time of `best` over a million rows: bench/library/large_database.py.
TEST_F(WinnersViewTest, WinnersAreFoundWithoutVisitingEveryMeasurement) {
  Database database = writable(file_);
  store_measured(database, kA6000, "1024x1024x1024", kWholeTiles, 60);
  SQLite::Database db(file_.string(), SQLite::OPEN_READWRITE);
  const WinnersByRevisions by_revisions(db, kRevisions);
  SQLite::Statement plan(db, "EXPLAIN QUERY PLAN " + WinnersByRevisions::query({}));
  std::string text;
  while (plan.executeStep()) text += plan.getColumn(3).getString() + "\n";
  EXPECT_THAT(text, HasSubstr("INDEX measurements_by_time (device_id=? AND problem_id=?"));
  EXPECT_THAT(text, Not(HasSubstr("measurements_of_candidate"))) << text;
  EXPECT_THAT(text, Not(HasSubstr("SCAN m"))) << text;
}

TEST_F(WinnersViewTest, WinnersAreOfTheRevisionsThatAreAskedFor) {
  Database database = writable(file_);
  store_measured(database, kA6000, "1024x1024x1024", kPredicated, 60, "stale");
  store_measured(database, kA6000, "1024x1024x1024", kWholeTiles, 61);
  const auto configs = [&](const KernelRevisions& revisions) {
    std::vector<std::string> found;
    for (const Record& record : database.winners("sm_86", revisions))
      found.push_back(record.config);
    return found;
  };
  EXPECT_THAT(configs(kRevisions), ElementsAre(kWholeTiles));
  EXPECT_THAT(configs({{"vectorized_2d", "stale"}}), ElementsAre(kPredicated));
  EXPECT_THAT(configs({{"naive", kRevision}}), testing::IsEmpty());
}

TEST_F(WinnersViewTest, AViewOfTheFileChoosesByTheProgramThatWroteLast) {
  const auto winners = [&] { return shell("SELECT config, revision FROM winners"); };
  {
    Database database(file_, Database::Mode::create_or_open);
    database.begin_run(kRun, {{"vectorized_2d", kRevision}});
    store_measured(database, kA6000, "1024x1024x1024", kWholeTiles, 61);
    database.begin_run(kRun);  // with a kernel of the user's
    store_measured(database, kA6000, "1024x1024x1024", kPredicated, 60, "user:1234");
  }
  EXPECT_THAT(winners(), ElementsAre(kWholeTiles + "|" + kRevision));
  Database(file_, Database::Mode::create_or_open).begin_run(kRun, {{"vectorized_2d", "user:1234"}});
  EXPECT_THAT(winners(), ElementsAre(kPredicated + "|user:1234"));
  Database(file_, Database::Mode::create_or_open).begin_run(kRun, {{"vectorized_2d", "8"}});
  EXPECT_THAT(winners(), testing::IsEmpty());
}

// One config, measured again and again: rows are kept, and one of them counts.
TEST_F(WinnersViewTest, EveryMeasurementIsKeptAndTheLatestFinalsCount) {
  Database database = writable(file_);
  const auto store = [&](const Outcome& outcome) {
    database.store(kA6000, k1024, kWholeTiles, kRevision, outcome, Source::measured);
    return database.records(kA6000, k1024).at(0).outcome.timing->median_us;
  };
  EXPECT_EQ(store(timed_alone(60)), 60);
  EXPECT_EQ(store(timed_alone(62)), 62);  // the latest, not the least
  EXPECT_EQ(store(ranked(64, 2)), 64);
  EXPECT_EQ(store(timed_alone(50)), 64);  // finals before a search
  EXPECT_EQ(store(ranked(63, 1)), 63);
  EXPECT_EQ(database.records(kA6000, k1024).size(), 1u);
  EXPECT_EQ(database.superseded_count(), 4);
  EXPECT_THAT(shell("SELECT median_us FROM measurements ORDER BY id"),
              ElementsAre("60.0", "62.0", "64.0", "50.0", "63.0"));
  EXPECT_EQ(database.winners("sm_86", kRevisions).at(0).outcome.timing->median_us, 63);
}

TEST_F(WinnersViewTest, AFailureCountsUntilALaterMeasurementRefutesIt) {
  Database database = writable(file_);
  store_measured(database, kA6000, "1024x1024x1024", kWholeTiles, 60);
  database.store(kA6000, k1024, kWholeTiles, kRevision, failed(Disposition::wrong_result, "C[0,0]"),
                 Source::measured);
  EXPECT_EQ(database.records(kA6000, k1024).at(0).outcome.disposition, Disposition::wrong_result);
  EXPECT_TRUE(database.winners("sm_86", kRevisions).empty());
  store_measured(database, kA6000, "1024x1024x1024", kWholeTiles, 61);
  EXPECT_EQ(database.winners("sm_86", kRevisions).at(0).outcome.timing->median_us, 61);
}

TEST_F(WinnersViewTest, WinnersViewShowsTheBestRowAndItsSpeed) {
  {
    Database database = writable(file_);
    database.store_baseline(kA6000, k1024, {"cublasSgemm", "13.1.0", timing(50)});
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

}  // namespace
}  // namespace gemm_tune
