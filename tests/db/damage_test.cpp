// SPDX-License-Identifier: Apache-2.0
// Damaged databases: truncated, bit-flipped, cut to pieces. The program must not crash or hang. It
// must name the file and the remedy in one sentence, and leave refused files untouched.
#include <SQLiteCpp/SQLiteCpp.h>

#include <cstdlib>
#include <random>

#include "core/error.h"
#include "core/text/shell_quote.h"
#include "db/file/check.h"
#include "db/file/database_file.h"
#include "db/transfer/merge.h"
#include "tests/db/fixture.h"
#include "tests/matchers.h"

namespace gemm_tune {
namespace {

using Mode = Database::Mode;

constexpr int kRows = 300;
constexpr std::size_t kPage = 4096;

std::string config_of(int row) {
  return "naive/BM=" + std::to_string(row + 1) + ",BN=16,COALESCED=1,PRED=0";
}

class DamageTest : public DbTest {
 protected:
  DamageTest() {
    {
      Database database = writable(file_);
      for (int row = 0; row < kRows; ++row) {
        store_measured(database, row % 2 == 0 ? kA6000 : kA10,
                       row % 3 == 0 ? "1024x1024x1024" : "64x512x4096", config_of(row), 60 + row);
      }
      database.store_baseline(kA6000, parse_problem("1024x1024x1024"),
                              {"cublasSgemm", "13.1.0", timing(50)});
    }
    sound_ = read_file(file_);
  }

  void write_damaged(const std::string& bytes) const {
    std::ofstream(file_, std::ios::binary | std::ios::trunc) << bytes;
  }

  std::string sound_with(std::size_t at, const std::string& bytes) const {
    std::string damaged = sound_;
    return damaged.replace(at, bytes.size(), bytes);
  }

  std::string without_root_of(const std::string& table) const {
    SQLite::Database db(file_.string());
    SQLite::Statement query(db, "SELECT rootpage FROM sqlite_schema WHERE name = ?");
    query.bind(1, table);
    query.executeStep();
    const auto page = static_cast<std::size_t>(query.getColumn(0).getInt64());
    return sound_with((page - 1) * kPage, std::string(kPage, '\0'));
  }

  // Opens, reads and writes as the program does. The sentence, where one of it fails.
  std::string use(Mode mode) const {
    try {
      Database database(file_, mode, std::chrono::milliseconds(50));
      database.for_each_record([](const Record&) {});
      database.winners("sm_86", kRevisions);
      if (mode == Mode::create_or_open) {
        database.begin_run(kRun);
        store_measured(database, kA6000, "8x8x8", kPredicated, 1);
      }
      return "";
    } catch (const DatabaseError& error) {
      return error.what();
    }
  }

  bool opens(Mode mode) const {
    try {
      const Database database(file_, mode, std::chrono::milliseconds(50));
      return true;
    } catch (const DatabaseError&) {
      return false;
    }
  }

  std::string sound_;
};

TEST_F(DamageTest, ASoundDatabaseHasNoFindings) {
  EXPECT_THAT(check_database(file_), IsEmpty());
  EXPECT_EQ(read_file(file_), sound_);
}

TEST_F(DamageTest, ATruncatedFileIsRefusedUntouched) {
  for (std::size_t size = 512; size < sound_.size(); size += 512) {
    SCOPED_TRACE(size);
    const std::string damaged = sound_.substr(0, size);
    write_damaged(damaged);
    for (const Mode mode : {Mode::read_only, Mode::create_or_open}) {
      EXPECT_FALSE(opens(mode));
      EXPECT_THAT(use(mode), AllOf(StartsWith("database '" + file_.string() + "' is damaged"),
                                   HasSubstr("gemm-tune db check"),
                                   HasSubstr("sqlite3 " + file_.string() + " '.clone NEW'")));
      EXPECT_EQ(read_file(file_), damaged);
    }
    EXPECT_THAT(check_database(file_), Contains(HasSubstr("it ends after")));
  }
}

TEST_F(DamageTest, TheCommandThatIsNamedKeepsTheRowsThatCanBeRead) {
  if (std::system("sqlite3 --version >/dev/null 2>&1") != 0) GTEST_SKIP() << "no sqlite3";
  // A page in the middle of the table that is largest by far.
  write_damaged(sound_with(sound_.size() / kPage / 2 * kPage, std::string(kPage, '\0')));
  ASSERT_THAT(check_database(file_), Not(IsEmpty()));
  const std::string command = "cd " + shell_quote(file_.parent_path().string()) + " && " +
                              recovery_command(file_) + " >/dev/null 2>&1";
  ASSERT_EQ(std::system(command.c_str()), 0) << command;
  const std::filesystem::path recovered = file_.parent_path() / "NEW";
  EXPECT_THAT(check_database(recovered), IsEmpty());
  int rows = 0;
  const Database database(recovered, Mode::read_only);
  database.for_each_record([&](const Record&) { ++rows; });
  EXPECT_GT(rows, kRows / 2);
}

TEST_F(DamageTest, AFileShorterThanAHeaderIsRefusedUntouched) {
  for (const std::size_t size : {1u, 16u, 60u, 99u}) {
    write_damaged(sound_.substr(0, size));
    EXPECT_THAT(use(Mode::create_or_open),
                HasSubstr(size < 16 ? "is not a database" : "it ends after"));
    EXPECT_EQ(read_file(file_), sound_.substr(0, size));
    EXPECT_THROW(check_database(file_), DatabaseError);
  }
}

TEST_F(DamageTest, FlippedBitsNeverCrashAndAreNeverWrittenOverWhereRefused) {
  std::mt19937 random(1);
  int told = 0;
  for (int flips = 1; flips <= 80; ++flips) {
    SCOPED_TRACE(flips);
    std::string damaged = sound_;
    for (int i = 0; i < 1 + flips / 10; ++i) {
      damaged[random() % damaged.size()] ^= static_cast<char>(1u << random() % 8);
    }
    write_damaged(damaged);
    for (const Mode mode : {Mode::read_only, Mode::create_or_open}) {
      const bool opened = opens(mode);
      if (mode == Mode::read_only || !opened) {
        EXPECT_EQ(read_file(file_), damaged);
      }
      const std::string sentence = use(mode);
      if (!sentence.empty()) {
        EXPECT_THAT(sentence, StartsWith("database '" + file_.string() + "' "));
        ++told;
      }
      write_damaged(damaged);
    }
    try {
      if (!use(Mode::read_only).empty()) {
        EXPECT_FALSE(check_database(file_).empty());
      }
    } catch (const DatabaseError& error) {
      EXPECT_THAT(error.what(), StartsWith("database '" + file_.string() + "' "));
    }
    EXPECT_EQ(read_file(file_), damaged);
  }
  EXPECT_GT(told, 75);  // of 160: many bits are free space, or of indexes that nothing reads
}

TEST_F(DamageTest, ALostTreeRootIsRefused) {
  write_damaged(without_root_of("measurements"));
  EXPECT_THAT(use(Mode::read_only), HasSubstr("is damaged"));
  EXPECT_FALSE(check_database(file_).empty());
}

TEST_F(DamageTest, ALostSchemaAndHeaderAreNoDatabase) {
  write_damaged(sound_with(0, std::string(kPage, '\0')));
  EXPECT_THAT(use(Mode::read_only), HasSubstr("is not a database"));
}

TEST_F(DamageTest, TheCheckNamesRowsThatMakeNoSense) {
  SQLite::Database(file_.string(), SQLite::OPEN_READWRITE)
      .exec(
          "UPDATE candidates SET config = 'naive/BM=x' WHERE id = (SELECT candidate_id FROM "
          "measurements "
          "WHERE id = 7);"
          "UPDATE measurements SET samples = '{}' WHERE id = 8;"
          "UPDATE measurements SET run_id = 99 WHERE id = 9;"
          "UPDATE problems SET K = 5 WHERE id = 1");
  EXPECT_THAT(check_database(file_),
              ElementsAre("measurements row 9 refers to a row of runs that does not exist",
                          "problems row 1: its text and its numbers differ",
                          HasSubstr("measurements row 7: "), HasSubstr("measurements row 8: ")));
}

// Its rows would no longer win, without a word.
TEST_F(DamageTest, TheCheckNamesCandidatesOfAnotherFamilyThanTheirConfigs) {
  SQLite::Database(file_.string(), SQLite::OPEN_READWRITE)
      .exec("UPDATE candidates SET family = 'oaive' WHERE id = 4");
  EXPECT_THAT(check_database(file_),
              ElementsAre("candidates row 4: its family and its config differ"));
}

// As one wrong bit in the type of a value leaves it.
TEST_F(DamageTest, ATextThatIsStoredAsABlobIsFoundAndNeverLostByAMerge) {
  SQLite::Database(file_.string(), SQLite::OPEN_READWRITE)
      .exec("UPDATE baselines SET recorded_at = CAST(recorded_at AS BLOB)");
  EXPECT_THAT(check_database(file_), ElementsAre("baselines row 1: its recorded_at is a blob"));
  try {
    merge_databases({file_}, folder_ / "merged.db", kRevisions);
    ADD_FAILURE() << "merged";
  } catch (const DatabaseError& error) {
    EXPECT_THAT(error.what(), StartsWith("database '" + file_.string() +
                                         "' is damaged (a row "
                                         "cannot be read: its "
                                         "recorded_at is a blob)"));
  }
  EXPECT_FALSE(fs::exists(folder_ / "merged.db"));
}

const char* const kTensorCores =
    "mma/AB=2,CD=2,BM=128,BN=64,BK=32,WM=64,WN=32,MMA_K=16,STAGES=3,ASYNC=1,VEC=8,RASTER=8,"
    "SPLIT_K=2,TA=0,TB=0,PRED=1";

TEST_F(DamageTest, TheCheckComparesTheTypesOfAProblemWithItsText) {
  const fs::path file = folder_ / "typed.db";
  Database writing = writable(file);
  store_measured(writing, kA6000, "8x8x8:type=bf16", kTensorCores, 1);
  EXPECT_THAT(check_database(file), IsEmpty());
  SQLite::Database(file.string(), SQLite::OPEN_READWRITE)
      .exec("UPDATE problems SET type_a = 'f16', type_b = 'f16', type_c = 'f16'");
  EXPECT_THAT(check_database(file), Contains("problems row 1: its text and its numbers differ"));
}

TEST_F(DamageTest, TheCheckNamesRowsWhoseConfigHasOtherTypesThanTheirProblem) {
  const fs::path file = folder_ / "typed.db";
  {
    Database writing = writable(file);
    store_measured(writing, kA6000, "512x512x512:type=bf16", kTensorCores, 5);
    store_measured(writing, kA6000, "512x512x512", kWholeTiles, 5);
    store_measured(writing, kA6000, "512x512x512:type=f16", "of_a_later_version/A=1", 5);
  }
  EXPECT_THAT(check_database(file), IsEmpty());
  SQLite::Database(file.string(), SQLite::OPEN_READWRITE)
      .exec("UPDATE measurements SET problem_id = 3 WHERE id = 1");
  EXPECT_THAT(check_database(file),
              ElementsAre("measurements row 1: its config is of bf16, its problem of f16"));
}

}  // namespace
}  // namespace gemm_tune
