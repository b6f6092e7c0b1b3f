// SPDX-License-Identifier: Apache-2.0
// A database of version 1 gives the answers of its own program, both unchanged and upgraded.
#include "db/upgrade.h"

#include <gmock/gmock.h>
#include <sys/stat.h>

#include <map>
#include <set>
#include <tuple>

#include "core/error.h"
#include "db/check.h"
#include "db/validity.h"
#include "tests/db/child_process.h"
#include "tests/db/version_1_file.h"

namespace gemm_tune {
namespace {

namespace fs = std::filesystem;
using Mode = Database::Mode;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;
using testing::StartsWith;

const Problem k256 = parse_problem("256x256x256");

// The kernels of the program that wrote the file.
const KernelHashes kVersion1Kernels = {{"warp_tiled", "8f8aeb69529e0d0f"}};

// The fastest of sm_90 at 256x256x256, and the next.
const std::string kBest =
    "warp_tiled/CLUSTER=0,BM=16,BN=32,BK=16,WM=16,WN=32,TM=4,TN=4,WARPS_K=4,STAGES=5,ASYNC=1,"
    "FRAGMENTS=2,VEC=4,RASTER=8,CTAS=1,SPLIT_K=1,TAIL=0,TA=0,TB=0,PRED=0";
const std::string kSecond =
    "warp_tiled/CLUSTER=0,BM=16,BN=32,BK=32,WM=16,WN=32,TM=4,TN=4,WARPS_K=4,STAGES=5,ASYNC=1,"
    "FRAGMENTS=2,VEC=4,RASTER=8,CTAS=1,SPLIT_K=1,TAIL=0,TA=0,TB=0,PRED=0";

auto facts(const Record& record) {
  const RunInfo& run = record.run;
  return std::tuple(record.device, record.problem, record.config, record.kernel_hash,
                    record.outcome, record.source, record.baseline, record.recorded_at, run.uuid,
                    run.tool_version, run.cuda_version, run.driver_version, run.command, run.seed);
}
using Facts = decltype(facts(std::declval<Record>()));

std::vector<Facts> facts(const std::vector<Record>& records) {
  std::vector<Facts> all;
  for (const Record& record : records) all.push_back(facts(record));
  return all;
}

// All that a database answers.
struct Answers {
  explicit Answers(const Database& database) {
    database.for_each_record([&](const Record& record) {
      every.push_back(facts(record));
      baselines.push_back(database.baselines(record));
    });
    for (const DeviceKey& device : database.devices()) {
      for (const char* problem : {"256x256x256", "64x64x65536", "300x200x100"}) {
        records.push_back(facts(database.records(device, parse_problem(problem))));
      }
    }
    for (const char* arch : {"sm_86", "sm_90"}) {
      winners.push_back(facts(database.winners(arch, kVersion1Kernels)));
    }
    superseded = database.superseded_count();
    runs = database.run_count();
  }
  friend bool operator==(const Answers&, const Answers&) = default;

  std::vector<Facts> every;
  std::vector<std::vector<Baseline>> baselines;
  std::vector<std::vector<Facts>> records, winners;
  std::int64_t superseded = 0, runs = 0;
};

Record best_of_256(const Database& database) {
  for (const Record& record : database.winners("sm_90", kVersion1Kernels)) {
    if (record.problem == k256) return record;
  }
  throw std::runtime_error("there is no winner for 256x256x256");
}

class UpgradeTest : public Version1Test {
 protected:
  Answers answers(Mode mode) const { return Answers(Database(file_, mode)); }

  // Problem -> config of the architecture's winners.
  std::map<std::string, std::string> best(const std::string& arch, Mode mode) const {
    std::map<std::string, std::string> configs;
    const Database database(file_, mode);
    for (const Record& record : database.winners(arch, kVersion1Kernels)) {
      configs[to_string(record.problem)] = record.config;
    }
    return configs;
  }

  std::vector<std::string> names_in_folder() const {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(folder_)) {
      names.push_back(entry.path().filename().string());
    }
    return names;
  }

  void expect_refused_untouched(const std::string& what) const {
    const std::string before = read_file(file_);
    for (const Mode mode : {Mode::create_or_open, Mode::read_only}) {
      EXPECT_THAT(refusal(mode),
                  AllOf(StartsWith("database '" + file_.string() + "' "), HasSubstr(what)));
      EXPECT_EQ(read_file(file_), before);
      EXPECT_THAT(names_in_folder(), ElementsAre("tune.db"));
    }
  }
};

TEST_F(UpgradeTest, ReadingLeavesTheFileAsItIs) {
  for (const char* mode : {"DELETE", "WAL"}) {
    change(std::string("PRAGMA journal_mode = ") + mode);
    const std::string before = read_file(file_);
    {
      const Database database(file_, Mode::read_only);
      EXPECT_EQ(database.schema_version(), 1);
      EXPECT_EQ(Answers(database).every.size(), 74u);
    }
    EXPECT_EQ(read_file(file_), before) << mode;
    EXPECT_THAT(names_in_folder(), ElementsAre("tune.db")) << mode;
  }
}

TEST_F(UpgradeTest, TheUpgradedFileGivesTheSameAnswers) {
  const Answers before = answers(Mode::read_only);
  EXPECT_EQ(Database(file_, Mode::create_or_open).schema_version(), 4);
  EXPECT_EQ(ask("PRAGMA user_version"), "4");
  EXPECT_EQ(Database(file_, Mode::read_only).schema_version(), 4);
  EXPECT_TRUE(answers(Mode::read_only) == before);
  EXPECT_TRUE(answers(Mode::create_or_open) == before);
  EXPECT_EQ(ask("PRAGMA integrity_check"), "ok");
  EXPECT_EQ(ask("SELECT count(*) FROM pragma_foreign_key_check"), "0");
  EXPECT_EQ(before.superseded, 0);
  EXPECT_EQ(before.runs, 3);
}

TEST_F(UpgradeTest, EveryValueOfARowArrives) {
  const Database database(file_, Mode::create_or_open);
  const std::vector<Record> rows = database.records(kH100, k256);
  ASSERT_EQ(rows.size(), 25u);
  const Record best = best_of_256(database);
  EXPECT_EQ(best.config, kBest);
  EXPECT_EQ(best.kernel_hash, "8f8aeb69529e0d0f");
  EXPECT_EQ(best.outcome.standing, Standing::tied);
  EXPECT_EQ(best.outcome.timing->median_us, 3.0464662789063133);
  EXPECT_EQ(best.outcome.timing->cold_us, 4.22139256088822);
  EXPECT_EQ(best.outcome.timing->conditions, (GpuConditions{1980, 135.7, 41}));
  EXPECT_EQ(best.run.driver_version, "580.159.04");
  EXPECT_EQ(best.run.command, "tune --sizes 256x256x256");
  EXPECT_EQ(best.run.seed, 3233158357u);
  EXPECT_EQ(best.baseline->name, "cublasLt 13.1.0 (best of 8 heuristics)");
  EXPECT_EQ(best.baseline->timing.median_us, 6.264960169792175);
  EXPECT_EQ(database.baselines(best).size(), 2u);
}

// As `gemm-tune best` of version 1 names them.
TEST_F(UpgradeTest, TheBestAreThoseOfVersion1) {
  for (const Mode mode : {Mode::read_only, Mode::create_or_open}) {
    EXPECT_THAT(
        best("sm_90", mode),
        ElementsAre(
            Pair("256x256x256", kBest),
            Pair("64x64x65536",
                 "warp_tiled/CLUSTER=0,BM=32,BN=64,BK=32,WM=32,WN=64,TM=8,TN=8,WARPS_K=8,STAGES=5,"
                 "ASYNC=1,FRAGMENTS=2,VEC=4,RASTER=8,CTAS=2,SPLIT_K=66,TAIL=0,TA=0,TB=0,PRED=0")));
    EXPECT_THAT(
        best("sm_86", mode),
        ElementsAre(
            Pair("256x256x256",
                 "warp_tiled/CLUSTER=0,BM=32,BN=32,BK=32,WM=32,WN=32,TM=4,TN=8,WARPS_K=4,STAGES=3,"
                 "ASYNC=2,FRAGMENTS=2,VEC=4,RASTER=8,CTAS=1,SPLIT_K=1,TAIL=0,TA=0,TB=0,PRED=0"),
            Pair("300x200x100",
                 "warp_tiled/CLUSTER=0,BM=32,BN=32,BK=16,WM=32,WN=32,TM=4,TN=8,WARPS_K=4,STAGES=4,"
                 "ASYNC=2,FRAGMENTS=2,VEC=4,RASTER=8,CTAS=1,SPLIT_K=1,TAIL=0,TA=0,TB=0,PRED=1")));
  }
}

TEST_F(UpgradeTest, ARowOfAnUnknownTextIsKeptAndStale) {
  change("UPDATE candidates SET kernel_hash = '0123456789abcdef' WHERE config = '" + kBest +
         "' AND device_id = 1 AND problem_id = 1");
  for (const Mode mode : {Mode::read_only, Mode::create_or_open}) {
    const Database database(file_, mode);
    std::vector<std::string> stale;
    for (const Record& record : database.records(kH100, k256)) {
      const auto reason = why_stale(record.config, record.kernel_hash, kVersion1Kernels);
      if (reason) stale.push_back(record.config + " " + record.kernel_hash + " " + *reason);
    }
    EXPECT_THAT(stale, ElementsAre(kBest + " 0123456789abcdef the kernel text has changed since"));
    EXPECT_EQ(database.records(kH100, k256).size(), 25u);
    EXPECT_EQ(best_of_256(database).config, kSecond);
  }
}

TEST_F(UpgradeTest, RowsOfKernelsThatHaveChangedAreKeptAndSayWhyTheyAreStale) {
  const KernelHashes now = current_kernel_hashes();
  for (const Mode mode : {Mode::read_only, Mode::create_or_open}) {
    const Database database(file_, mode);
    int stale = 0;
    database.for_each_record([&](const Record& record) {
      const auto reason = why_stale(record.config, record.kernel_hash, now);
      EXPECT_EQ(reason, "the kernel text has changed since");
      ++stale;
    });
    EXPECT_EQ(stale, 74);
    EXPECT_TRUE(database.winners("sm_90", now).empty());
  }
}

// A config that was timed with both: as a row of finals, and later in a search.
TEST_F(UpgradeTest, TwoTextsOfTheSameTokensAreOneKernel) {
  change(R"sql(
    CREATE TEMP TABLE twin AS
      SELECT * FROM candidates
      WHERE device_id = 1 AND problem_id = 1 AND median_us BETWEEN 3.046 AND 3.047;
    UPDATE twin SET id = NULL, kernel_hash = 'd50649a93442e3eb', standing = 'search',
                    median_us = 2.5, recorded_at = '2026-11-22T04:00:00Z';
    INSERT INTO candidates SELECT * FROM twin)sql");
  for (const Mode mode : {Mode::read_only, Mode::create_or_open}) {
    const Database database(file_, mode);
    EXPECT_EQ(database.records(kH100, k256).size(), 25u);
    EXPECT_EQ(database.superseded_count(), 1);
    const Record best = best_of_256(database);
    EXPECT_EQ(best.config, kBest);
    EXPECT_EQ(best.outcome.timing->median_us, 3.0464662789063133);
  }
  EXPECT_EQ(ask("SELECT group_concat(family || ' ' || hash) FROM kernels"),
            "warp_tiled 8f8aeb69529e0d0f");
  EXPECT_EQ(ask("SELECT count(*) FROM measurements"), "75");
}

TEST_F(UpgradeTest, EveryCopyNamesItsRunsAlike) {
  const fs::path copy = folder_ / "copy.db";
  fs::copy_file(file_, copy);
  std::set<std::string> read;
  Database(file_, Mode::read_only).for_each_record([&](const Record& record) {
    read.insert(record.run.uuid);
  });
  EXPECT_THAT(read, ElementsAre("6c7a04dd-c0a0-8dc0-88f2-9509c4df5f7a",
                                "a52dc965-08a2-88bd-8454-18457307f29f",
                                "caaa1657-a1e4-8e77-8c1b-e1e4f5c5f651"));
  Database(file_, Mode::create_or_open);
  Database(copy, Mode::create_or_open, {}, Database::Journaling::rollback);
  constexpr const char* kUuids =
      "SELECT group_concat(uuid) FROM (SELECT uuid FROM runs ORDER BY id)";
  EXPECT_EQ(ask(kUuids),
            "caaa1657-a1e4-8e77-8c1b-e1e4f5c5f651,a52dc965-08a2-88bd-8454-18457307f29f,"
            "6c7a04dd-c0a0-8dc0-88f2-9509c4df5f7a");
  EXPECT_EQ(SQLite::Database(copy.string()).execAndGet(kUuids).getString(), ask(kUuids));
}

TEST_F(UpgradeTest, RowsInTheLogOfAKilledProcessCount) {
  change("PRAGMA journal_mode = WAL");
  EXPECT_EQ(in_child([&]() -> std::string {
              SQLite::Database db(file_.string(), SQLite::OPEN_READWRITE);
              db.exec("UPDATE candidates SET kernel_hash = 'other' WHERE config = '" + kBest + "'");
              raise(SIGKILL);
              return "";
            }),
            " (child died)");
  EXPECT_EQ(best("sm_90", Mode::read_only)["256x256x256"], kSecond);
  EXPECT_EQ(ask("PRAGMA user_version"), "1");
  EXPECT_EQ(best("sm_90", Mode::create_or_open)["256x256x256"], kSecond);
  EXPECT_EQ(ask("PRAGMA user_version"), "4");
}

TEST_F(UpgradeTest, AReadOnlyFileInAReadOnlyFolderIsReadable) {
  for (const char* mode : {"DELETE", "WAL"}) {
    change(std::string("PRAGMA journal_mode = ") + mode);
    ASSERT_EQ(chmod(file_.c_str(), 0444), 0);
    ASSERT_EQ(chmod(folder_.c_str(), 0555), 0);
    EXPECT_EQ(in_child([&] {
                become_nobody();
                return best("sm_90", Mode::read_only)["256x256x256"];
              }),
              kBest);
    ASSERT_EQ(chmod(folder_.c_str(), 0755), 0);
    ASSERT_EQ(chmod(file_.c_str(), 0644), 0);
  }
}

TEST_F(UpgradeTest, OpenForReadingItIsNotWritten) {
  Database database(file_, Mode::read_only);
  try {
    database.begin_run(kRun);
    FAIL() << "wrote";
  } catch (const DatabaseError& error) {
    EXPECT_THAT(error.what(), HasSubstr("open for reading only"));
  }
  EXPECT_EQ(database.journal().mode, "delete");
}

TEST_F(UpgradeTest, ARowThatBreaksTheSchemaIsRefused) {
  change("UPDATE candidates SET median_us = -1 WHERE id = (SELECT min(id) FROM candidates)");
  expect_refused_untouched("is damaged (CHECK constraint failed: median_us > 0): `gemm-tune db ");
}

TEST_F(UpgradeTest, ABaselineWithoutItsRunIsRefused) {
  change("DELETE FROM runs WHERE id = 1");
  expect_refused_untouched("is damaged (rows refer to others that do not exist): `gemm-tune db ");
}

TEST_F(UpgradeTest, APersonsOwnViewsStay) {
  change(
      "CREATE VIEW mine AS SELECT config FROM candidates;"
      "CREATE VIEW broken AS SELECT x FROM no_such_table");
  EXPECT_EQ(best("sm_90", Mode::read_only)["256x256x256"], kBest);
  EXPECT_EQ(best("sm_90", Mode::create_or_open)["256x256x256"], kBest);
  EXPECT_EQ(ask("SELECT sql FROM sqlite_schema WHERE name = 'mine'"),
            "CREATE VIEW mine AS SELECT config FROM candidates");
}

TEST_F(UpgradeTest, APersonsOwnTableWithANewTablesNameIsNamed) {
  change("CREATE TABLE Configs (x); INSERT INTO Configs VALUES (7)");
  const std::string why =
      "is of version 1 and cannot be upgraded: its table 'Configs' is not gemm-tune's and has a "
      "name "
      "that version 4 takes: rename it, as in sqlite3 FILE 'ALTER TABLE Configs RENAME TO "
      "my_Configs'";
  expect_refused_untouched(why);
  EXPECT_THAT(check_database(file_, {}), ElementsAre("it " + why));
  change("ALTER TABLE Configs RENAME TO my_Configs");
  EXPECT_EQ(best("sm_90", Mode::create_or_open)["256x256x256"], kBest);
  EXPECT_EQ(ask("SELECT x FROM my_Configs"), "7");
}

}  // namespace
}  // namespace gemm_tune
