// SPDX-License-Identifier: Apache-2.0
#include "db/database.h"

#include <SQLiteCpp/SQLiteCpp.h>
#include <sqlite3.h>

#include <cmath>
#include <limits>

#include "core/error.h"
#include "tests/db/dump.h"
#include "tests/db/fixture.h"
#include "tests/matchers.h"

namespace gemm_tune {
namespace {

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
  database.store(kA6000, parse_problem("256x256x256"), kWholeTiles, kRevision,
                 failed(Disposition::wrong_result, "wrong"), Source::measured);
  const Problem k512 = parse_problem("512x512x512");
  EXPECT_THAT(database.timed_elsewhere(kA6000, k1024),
              ElementsAre(TimedConfig{kA10, k1024, kWholeTiles, kRevision, 80},
                          TimedConfig{kA6000, k512, kWholeTiles, kRevision, 20},
                          TimedConfig{kA6000, k512, kPredicated, kRevision, 30}));
  EXPECT_THAT(database.timed_elsewhere(kA10, parse_problem("64x64x64")).size(), 2u);
  // What a newer program says of a problem is no reason to do without the rest.
  SQLite::Database(file_.string(), SQLite::OPEN_READWRITE)
      .exec("UPDATE problems SET text = '512x512x512:swizzle=3' WHERE text = '512x512x512'");
  EXPECT_THAT(database.timed_elsewhere(kA6000, k1024),
              ElementsAre(TimedConfig{kA10, k1024, kWholeTiles, kRevision, 80}));
}

TEST_F(DatabaseTest, ReturnsARecordAsItWasStored) {
  Database database = writable(file_);
  database.store_baseline(kA6000, k1024, {"cublasSgemm", "13.1.0", timing(50)});
  database.store(kA6000, k1024, kWholeTiles, kRevision, measured(60.1), Source::measured);
  const std::vector<Record> records = database.records(kA6000, k1024);
  ASSERT_EQ(records.size(), 1u);
  const Record& record = records[0];
  EXPECT_EQ(record.device, kA6000);
  EXPECT_EQ(record.problem, k1024);
  EXPECT_EQ(record.config, kWholeTiles);
  EXPECT_EQ(record.revision, kRevision);
  EXPECT_EQ(record.outcome, measured(60.1));
  EXPECT_EQ(record.source, Source::measured);
  ASSERT_TRUE(record.baseline.has_value());
  EXPECT_EQ(*record.baseline, (Baseline{"cublasSgemm", "13.1.0", timing(50)}));
  EXPECT_THAT(record.recorded_at, MatchesRegex("20..-..-..T..:..:..[.]...Z"));
  EXPECT_EQ(record.run.tool_version, "0.1.0");
  EXPECT_EQ(record.run.cuda_version, "13.0");
  EXPECT_EQ(record.run.driver_version, "580.159.04");
  EXPECT_EQ(record.run.command, "gemm-tune --sizes 1024");
  EXPECT_EQ(record.run.seed, 7u);
}

TEST_F(DatabaseTest, ErrorsOfResultsAndBaselinesAreStoredAndShownBesideTheWinner) {
  Database database = writable(file_);
  database.store_baseline(kA6000, k1024, {"cublasSgemm", "13.1.0", timing(50), 2.5e-7});
  Outcome outcome = measured(60);
  outcome.error = 5e-7;
  database.store(kA6000, k1024, kWholeTiles, kRevision, outcome, Source::measured);
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
    EXPECT_THROW(database.store(kA6000, k1024, kWholeTiles, kRevision, outcome, Source::measured),
                 DatabaseError);
    EXPECT_THROW(
        database.store_baseline(kA6000, k1024, {"cublasSgemm", "13.1.0", timing(50), error}),
        DatabaseError);
  }
  EXPECT_TRUE(database.records(kA6000, k1024).empty());
}

TEST_F(DatabaseTest, RecordsComeInTheOrderFirstStored) {
  Database database = writable(file_);
  database.store(kA6000, k1024, kWholeTiles, kRevision, measured(60), Source::measured);
  database.store(kA6000, k1024, kPredicated, kRevision, measured(70), Source::measured);
  const auto configs = [&] {
    std::vector<std::string> found;
    for (const Record& row : database.records(kA6000, k1024)) found.push_back(row.config);
    return found;
  };
  std::vector<std::string> order = {kWholeTiles, kPredicated};
  EXPECT_EQ(configs(), order);
  // As the finals do.
  database.store(kA6000, k1024, kWholeTiles, kRevision, measured(61), Source::measured);
  EXPECT_EQ(configs(), order);
  database.store(kA10, k1024, kPredicated, kRevision, measured(70), Source::measured);
  database.store(kA10, k1024, kWholeTiles, kRevision, measured(60), Source::measured);
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
                                  "64x64x64:batch=8",   "64x64x64:layout=tt:align=4:batch=65535"};
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
  SQLite::Statement row(raw, "SELECT layout, align_a, batch FROM problems WHERE text = ?");
  row.bind(1, problems[5]);
  ASSERT_TRUE(row.executeStep());
  EXPECT_EQ(row.getColumn(0).getString(), "tt");
  EXPECT_EQ(row.getColumn(1).getInt(), 4);
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
  outcome.ranking = Ranking{2, 1, false, true};
  database.store_baseline(kA6000, k1024, {"cublasSgemm", "13.1.0", whole});
  database.store(kA6000, k1024, kWholeTiles, kRevision, outcome, Source::measured);
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
    database.store(kA6000, k1024, kWholeTiles, kRevision,
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
  EXPECT_THROW(database.store(kA6000, k1024, kWholeTiles, kRevision,
                              failed(Disposition::crashed, ""), Source::measured),
               DatabaseError);
  EXPECT_TRUE(database.records(kA6000, k1024).empty());
}

TEST_F(DatabaseTest, RefusesAMeasuredWinnerWithoutATimeAndAZeroTime) {
  Database database = writable(file_);
  EXPECT_THROW(
      database.store(kA6000, k1024, kWholeTiles, kRevision, predicted(10), Source::measured),
      DatabaseError);
  EXPECT_THROW(database.store(kA6000, k1024, kWholeTiles, kRevision, measured(0), Source::measured),
               DatabaseError);
  EXPECT_TRUE(database.records(kA6000, k1024).empty());
}

TEST_F(DatabaseTest, StoresTheModelsInfinityAsNoTime) {
  Database database = writable(file_);
  Outcome outcome = failed(Disposition::rejected, "no CTA fits an SM");
  outcome.predicted_us = std::numeric_limits<double>::infinity();
  database.store(kA6000, k1024, kWholeTiles, kRevision, outcome, Source::predicted);
  EXPECT_FALSE(database.records(kA6000, k1024).at(0).outcome.predicted_us.has_value());
}

TEST_F(DatabaseTest, KeepsRowsOfAnotherRevisionOrSourceApart) {
  Database database = writable(file_);
  store_measured(database, kA6000, "1024x1024x1024", kWholeTiles, 60);
  store_measured(database, kA6000, "1024x1024x1024", kWholeTiles, 70, "8");
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

TEST_F(DatabaseTest, WhatIsStoredTogetherIsCommittedAtOnceOrNotAtAll) {
  Database database = writable(file_);
  EXPECT_THROW(database.together([&] {
    store_measured(database, kA6000, "1024x1024x1024", kWholeTiles, 60);
    database.store_baseline(kA6000, k1024, {"cublasSgemm", "13.1.0", timing(50)});
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
  database.store_baseline(kA6000, k1024, {"cublasSgemm", "13.1.0", timing(50)});
  store_measured(database, kA6000, "1024x1024x1024", kWholeTiles, 60);
  database.store_baseline(kA6000, k1024, {"cublasLtMatmul", "13.1.0", timing(48)});
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
  EXPECT_THAT([&] { store_measured(database, kA6000, "1024x1024x1024", kWholeTiles, 60); },
              ThrowsMessage<DatabaseError>(HasSubstr("no run")));
}

TEST_F(DatabaseTest, SecondsOnTheGpuAreThoseOfTheProblemsAlignments) {
  Database database = writable(file_);
  Outcome outcome = measured(60);
  outcome.gpu_s = 0.125;
  database.store(kA6000, parse_problem("64x64x64:align=16/16/4/4"), kWholeTiles, kRevision, outcome,
                 Source::measured);
  EXPECT_EQ(database.gpu_seconds(kA6000, parse_problem("64x64x64:align=16/16/4/4")), 0.125);
  EXPECT_EQ(database.gpu_seconds(kA6000, parse_problem("64x64x64:align=4")), std::nullopt);
  EXPECT_EQ(database.gpu_seconds(kA6000, parse_problem("64x64x64")), std::nullopt);
  EXPECT_EQ(database.gpu_seconds(kA10, parse_problem("64x64x64:align=16/16/4/4")), std::nullopt);
}

TEST_F(DatabaseTest, KeepsWhatARunRestsOn) {
  Database database(file_, Database::Mode::create_or_open);
  RunInfo run = kRun;
  run.uuid = "00000000-0000-4000-8000-000000000001";
  run.host = "node7";
  run.gpu = {700, 2619, "1g.10gb"};
  database.begin_run(run);
  Outcome outcome = measured(60);
  outcome.compile_s = 0.25;
  outcome.gpu_s = 0.125;
  database.store(kA6000, k1024, kWholeTiles, kRevision, outcome, Source::measured);
  const Record record = database.records(kA6000, k1024).at(0);
  EXPECT_EQ(record.outcome, outcome);
  EXPECT_EQ(record.run.uuid, run.uuid);
  EXPECT_EQ(record.run.host, "node7");
  EXPECT_EQ(record.run.gpu, run.gpu);
  database.begin_run(kRun);
  database.store_baseline(kA6000, parse_problem("64x64x64"), {"cublasSgemm", "13.2.0", timing(5)});
  store_measured(database, kA6000, "64x64x64", kWholeTiles, 6);
  const Record other = database.records(kA6000, parse_problem("64x64x64")).at(0);
  EXPECT_THAT(other.run.uuid, MatchesRegex("[0-9a-f-]{36}"));
  EXPECT_EQ(other.baseline.value().title(), "cublasSgemm 13.2.0");
  EXPECT_EQ(other.run.gpu, GpuSettings{});
}

TEST_F(DatabaseTest, ListsDevices) {
  Database database = writable(file_);
  EXPECT_TRUE(database.devices().empty());
  store_measured(database, kA6000, "512x512x512", kPredicated, 60);
  store_measured(database, kA10, "512x512x512", kPredicated, 60);
  EXPECT_THAT(database.devices(), ElementsAre(kA10, kA6000));
}

TEST_F(DatabaseTest, OutcomesViewHasExactlyItsPublicColumns) {
  {
    Database database = writable(file_);
    database.store_baseline(kA6000, k1024, {"cublasSgemm", "13.1.0", timing(50)});
    database.store(kA6000, k1024, kWholeTiles, kRevision, failed(Disposition::rejected, "spills"),
                   Source::predicted);
    store_measured(database, kA6000, "1024x1024x1024", kPredicated, 100);
  }
  EXPECT_THAT(shell("SELECT name FROM pragma_table_info('outcomes')"),
              ElementsAre("arch", "device", "problem", "config", "revision", "disposition",
                          "reason", "source", "median_us", "rank", "baseline_us"));
  EXPECT_THAT(shell("SELECT * FROM outcomes"),
              ElementsAre("sm_86|NVIDIA RTX A6000|1024x1024x1024|" + kWholeTiles +
                              "|7|rejected|spills|predicted|NULL|NULL|50.0",
                          "sm_86|NVIDIA RTX A6000|1024x1024x1024|" + kPredicated +
                              "|7|ok|NULL|measured|100.0|1|50.0"));
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
       {"devices", "problems", "candidates", "families", "runs", "baselines", "measurements"}) {
    const std::string sql = shell("SELECT sql FROM sqlite_master WHERE name = '" + table + "'")[0];
    for (const std::string& column :
         shell("SELECT name FROM pragma_table_info('" + table + "') WHERE name <> 'id'")) {
      EXPECT_THAT(definition_of(column, sql), HasSubstr("-- ")) << table << "." << column;
    }
  }
}

TEST_F(DatabaseTest, TheFileIsKnownByItsApplicationIdAndVersion) {
  writable(file_);
  EXPECT_THAT(shell("PRAGMA application_id"), ElementsAre("1735681122"));
  EXPECT_THAT(shell("PRAGMA user_version"), ElementsAre("1"));
  EXPECT_THAT(shell("PRAGMA integrity_check"), ElementsAre("ok"));
}

TEST_F(DatabaseTest, KeepsKindsOfBatchApart) {
  const std::string strided = "64x64x64:batch=8", pointers = strided + ":pointers";
  {
    Database database = writable(file_);
    store_measured(database, kA6000, strided, kWholeTiles, 5);
    store_measured(database, kA6000, pointers, kWholeTiles, 6);
  }
  EXPECT_THAT(shell("SELECT text, batch_kind FROM problems ORDER BY id"),
              ElementsAre(strided + "|strided", pointers + "|pointers"));
  const Database database(file_, Database::Mode::read_only);
  const std::vector<Record> records = database.records(kA6000, parse_problem(pointers));
  ASSERT_EQ(records.size(), 1u);
  EXPECT_EQ(records[0].problem, parse_problem(pointers));
  EXPECT_EQ(records[0].outcome.time_us(), 6);
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
  EXPECT_THAT(
      shell("SELECT type_a || type_b || type_c || type_d, accuracy FROM problems ORDER BY id"),
      ElementsAre("f32f32f32f32|fp32", "bf16bf16bf16bf16|sums_fp32", "bf16bf16f32f32|sums_fp32",
                  "f16f16f16f16|sums_fp32"));
  const Database database(file_, Database::Mode::read_only);
  double time_us = 4;
  for (const std::string& text : texts) {
    const std::vector<Record> records = database.records(kA6000, parse_problem(text));
    ASSERT_EQ(records.size(), 1u) << text;
    EXPECT_EQ(records[0].problem, parse_problem(text));
    EXPECT_EQ(records[0].outcome.time_us(), ++time_us);
  }
  EXPECT_EQ(database.winners("sm_86", kRevisions).size(), texts.size());
}

TEST_F(DatabaseTest, PassesOverProblemsOfTypesThatThisProgramDoesNotKnow) {
  {
    Database database = writable(file_);
    store_measured(database, kA6000, "1024x1024x1024", kWholeTiles, 60);
    store_measured(database, kA6000, "512x512x512", kWholeTiles, 6);
  }
  {
    SQLite::Database db(file_.string(), SQLite::OPEN_READWRITE);
    db.exec("UPDATE problems SET text = '512x512x512:e2m1', type_a = 'e2m1' WHERE M = 512");
  }
  const Database database(file_, Database::Mode::read_only);
  const std::vector<Record> records = database.winners("sm_86", kRevisions);
  ASSERT_EQ(records.size(), 1u);
  EXPECT_EQ(records[0].problem, k1024);
}

TEST_F(DatabaseTest, RefusesRowsThatNoVersionStored) {
  {
    Database database = writable(file_);
    database.store_baseline(kA6000, k1024, {"cublasSgemm", "13.1.0", timing(130)});
    store_measured(database, kA6000, "1024x1024x1024", kWholeTiles, 60);
    store_predicted(database, kA6000, "1024x1024x1024", kPredicated, 70);
  }
  const std::string sound = read_file(file_);
  for (const char* damage : {
           "UPDATE measurements SET source = 'measure'",
           "UPDATE measurements SET rank = 0",
           "UPDATE measurements SET cold_rank = 1 WHERE rank IS NOT NULL",
           "UPDATE measurements SET rank = 1, tied = 0, verified = 0 WHERE source = 'predicted'",
           "UPDATE measurements SET samples = '{}' WHERE samples IS NOT NULL",
           "UPDATE measurements SET samples = '[1e999]' WHERE samples IS NOT NULL",
           "UPDATE candidates SET config = CAST(x'61ff2f' || id AS TEXT)",
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
           "UPDATE candidates SET config = x'61' || id",
           "UPDATE candidates SET config = 'naive/BM=' || id || hex(zeroblob(1000000))",
           "UPDATE measurements SET reason = hex(zeroblob(2000000))",
           "UPDATE measurements SET reason = hex(zeroblob(20000000))",
           "UPDATE devices SET sm_count = 2147483648",
           "UPDATE devices SET sm_count = -84",
           "UPDATE devices SET name = ''",
           "UPDATE baselines SET samples = '[1]'",
           "UPDATE baselines SET median_us = -130",
           "UPDATE baselines SET library_version = ''",
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
  database.store_baseline(kA6000, k1024, {"cublasSgemm", "13.1.0", timing(50)});
  database.store_baseline(kA6000, k1024, {"cublasLt", "13.1.0", timing(48)});
  database.store_baseline(kA6000, parse_problem("64x64x64"), {"cublasSgemm", "13.1.0", timing(2)});
  database.store(kA6000, k1024, kWholeTiles, kRevision, measured(60), Source::measured);
  const Record row = database.records(kA6000, k1024).at(0);
  EXPECT_EQ(database.baselines(row), (std::vector<Baseline>{{"cublasSgemm", "13.1.0", timing(50)},
                                                            {"cublasLt", "13.1.0", timing(48)}}));
  EXPECT_EQ(row.baseline->name, "cublasLt");

  // Another run's are not the row's; those of the run that times it again are.
  database.begin_run(kRun);
  database.store_baseline(kA6000, k1024, {"cublasSgemm", "13.1.0", timing(51)});
  EXPECT_EQ(database.baselines(row).size(), 2u);
  database.store(kA6000, k1024, kWholeTiles, kRevision, measured(61), Source::measured);
  EXPECT_EQ(database.baselines(row),
            (std::vector<Baseline>{{"cublasSgemm", "13.1.0", timing(51)}}));
}

// One judgement for both: nothing is stored that would be damage to a reader.
TEST_F(DatabaseTest, RefusesToStoreWhatItWouldNotRead) {
  Database database = writable(file_);
  const auto refusal = [&](const DeviceKey& device, const std::string& config,
                           const Outcome& outcome) -> std::string {
    try {
      database.store(device, k1024, config, kRevision, outcome, Source::measured);
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
  EXPECT_THAT(refusal(kA6000, kWholeTiles, negative), HasSubstr("its registers is -1"));
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
  database.store(kA6000, k1024, kWholeTiles, kRevision, failed(Disposition::compile_failed, log),
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

// The moment that SQLite takes for now, as long as this lives.
class SetClock {
 public:
  explicit SetClock(const char* moment) {
    SQLite::Database db(":memory:", SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE);
    SQLite::Statement days(db, "SELECT julianday(?)");
    days.bind(1, moment);
    days.executeStep();
    constexpr double kMsPerDay = 24.0 * 60 * 60 * 1000;
    now_ms_ = static_cast<sqlite3_int64>(days.getColumn(0).getDouble() * kMsPerDay + 0.5);
    vfs_->xCurrentTimeInt64 = [](sqlite3_vfs*, sqlite3_int64* now) {
      *now = now_ms_;
      return SQLITE_OK;
    };
  }
  ~SetClock() { vfs_->xCurrentTimeInt64 = usual_; }
  SetClock(const SetClock&) = delete;
  SetClock& operator=(const SetClock&) = delete;

 private:
  static inline sqlite3_int64 now_ms_ = 0;
  sqlite3_vfs* const vfs_ = sqlite3_vfs_find(nullptr);
  int (*const usual_)(sqlite3_vfs*, sqlite3_int64*) = vfs_->xCurrentTimeInt64;
};

TEST_F(DatabaseTest, AClockBeyondAllMomentsOfRowsStoresNothingThatNobodyReads) {
  Database database = writable(file_);
  store_measured(database, kA6000, "8x8x8", kPredicated, 1);
  const SetClock clock("2250-01-01 00:00:00");
  const auto why = [](const auto& store) {
    try {
      store();
    } catch (const DatabaseError& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  const std::string sentence = "database '" + file_.string() +
                               "' takes no rows of '2250-01-01T00:00:00.000Z', which the system's "
                               "clock says: set the clock";
  EXPECT_EQ(why([&] { store_measured(database, kA6000, "8x8x8", kWholeTiles, 2); }), sentence);
  EXPECT_EQ(why([&] { database.begin_run(kRun); }), sentence);
  EXPECT_EQ(why([&] {
              database.store_baseline(kA6000, parse_problem("8x8x8"),
                                      {"cublasSgemm", "13.1.0", timing(50)});
            }),
            sentence);
  EXPECT_EQ(database.records(kA6000, parse_problem("8x8x8")).size(), 1u);
}

TEST_F(DatabaseTest, AClockThatWasSetBackMakesNoRowEarlierThanThoseBeforeIt) {
  Database database = writable(file_);
  {
    const SetClock ahead("2099-01-01 00:00:00");
    database.store(kA6000, parse_problem("8x8x8"), kPredicated, kRevision,
                   failed(Disposition::wrong_result, "element 7"), Source::measured);
  }
  const SetClock right("2026-11-26 12:00:00");
  database.store(kA6000, parse_problem("8x8x8"), kPredicated, kRevision, measured(3),
                 Source::measured);
  database.store(kA6000, parse_problem("8x8x8"), kWholeTiles, kRevision, measured(4),
                 Source::measured);
  std::vector<std::string> counting;
  for (const Record& record : database.records(kA6000, parse_problem("8x8x8"))) {
    counting.push_back(record.recorded_at + " " +
                       std::string(to_string(record.outcome.disposition)));
  }
  EXPECT_THAT(counting, testing::UnorderedElementsAre("2099-01-01T00:00:00.000Z ok",
                                                      "2026-11-26T12:00:00.000Z ok"));
}

}  // namespace
}  // namespace gemm_tune
