// SPDX-License-Identifier: Apache-2.0
// Damaged databases: truncated, bit-flipped, cut to pieces. The program must not crash or hang. It
// must name the file and the remedy in one sentence, leave refused files untouched, and save the
// readable rows.
#include <SQLiteCpp/SQLiteCpp.h>
#include <gmock/gmock.h>

#include <random>

#include "core/error.h"
#include "db/check.h"
#include "db/database_file.h"
#include "db/salvage.h"
#include "tests/db/fixture.h"

namespace gemm_tune {
namespace {

namespace fs = std::filesystem;
using Mode = Database::Mode;
using testing::AllOf;
using testing::Contains;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

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
      database.store_baseline(kA6000, parse_problem("1024x1024x1024"), {"cublasSgemm", timing(50)});
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
      database.winners("sm_86", kHashes);
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

  // The damaged file is not changed by salvaging, and what comes out is sound. Kept measurements.
  int salvaged_rows() const {
    const fs::path output = folder_ / "salvaged.db";
    fs::remove(output);
    const std::string before = read_file(file_);
    int kept = 0;
    try {
      kept = static_cast<int>(salvage_database(file_, output).back().kept);
    } catch (const DatabaseError& error) {
      EXPECT_THAT(error.what(), StartsWith("database '"));

      EXPECT_FALSE(fs::exists(output));
    }
    EXPECT_EQ(read_file(file_), before);
    if (kept > 0) {
      EXPECT_THAT(check_database(output), IsEmpty());
      int rows = 0;
      Database(output, Mode::read_only).for_each_record([&](const Record&) { ++rows; });
      EXPECT_EQ(rows, kept);
    }
    return kept;
  }

  std::string sound_;
};

TEST_F(DamageTest, ASoundDatabaseHasNoFindingsAndIsSalvagedWhole) {
  EXPECT_THAT(check_database(file_), IsEmpty());
  std::vector<Record> before, after;
  Database(file_, Mode::read_only).for_each_record([&](const Record& r) { before.push_back(r); });
  const auto tables = salvage_database(file_, folder_ / "new.db");
  Database(folder_ / "new.db", Mode::read_only).for_each_record([&](const Record& r) {
    after.push_back(r);
  });
  std::vector<std::int64_t> kept, lost;
  for (const SalvagedTable& table : tables) {
    kept.push_back(table.kept);
    lost.push_back(table.lost);
  }
  EXPECT_THAT(kept, ElementsAre(2, 2, kRows, 1, 1, 1, kRows));
  EXPECT_THAT(lost, Each(0));
  ASSERT_EQ(before.size(), after.size());
  for (std::size_t i = 0; i < before.size(); ++i) {
    EXPECT_EQ(before[i].config, after[i].config);
    EXPECT_EQ(before[i].outcome, after[i].outcome);
    EXPECT_EQ(before[i].baseline, after[i].baseline);
    EXPECT_EQ(before[i].recorded_at, after[i].recorded_at);
  }
  EXPECT_EQ(read_file(file_), sound_);
}

TEST_F(DamageTest, PagesOfEverySizeAreSalvagedByTheirLeaves) {
  for (const char* page_size : {"512", "1024", "65536"}) {
    SCOPED_TRACE(page_size);
    write_damaged(sound_);
    {
      SQLite::Database db(file_.string(), SQLite::OPEN_READWRITE);
      db.exec("PRAGMA journal_mode = DELETE");
      db.exec(std::string("PRAGMA page_size = ") + page_size);
      db.exec("VACUUM");
      db.exec("PRAGMA writable_schema = ON; DELETE FROM sqlite_schema");  // no trees, only leaves
    }
    EXPECT_EQ(salvaged_rows(), kRows);
  }
}

TEST_F(DamageTest, ATruncatedFileIsRefusedUntouchedAndLosesOnlyWhatIsCutOff) {
  int kept_before = 0;
  for (std::size_t size = 512; size < sound_.size(); size += 512) {
    SCOPED_TRACE(size);
    const std::string damaged = sound_.substr(0, size);
    write_damaged(damaged);
    for (const Mode mode : {Mode::read_only, Mode::create_or_open}) {
      EXPECT_FALSE(opens(mode));
      EXPECT_THAT(use(mode), AllOf(StartsWith("database '" + file_.string() + "' is damaged"),
                                   HasSubstr("gemm-tune db check"), HasSubstr("db salvage")));
      EXPECT_EQ(read_file(file_), damaged);
    }
    EXPECT_THAT(check_database(file_), Contains(HasSubstr("it ends after")));
    if (size % 1536 != 0) continue;
    const int kept = salvaged_rows();
    EXPECT_GE(kept, kept_before);
    kept_before = kept;
  }
  EXPECT_GE(kept_before, kRows - 20);
}

TEST_F(DamageTest, AFileShorterThanAHeaderIsRefusedUntouched) {
  for (const std::size_t size : {1u, 16u, 60u, 99u}) {
    write_damaged(sound_.substr(0, size));
    EXPECT_THAT(use(Mode::create_or_open),
                HasSubstr(size < 16 ? "is not a database" : "it ends after"));
    EXPECT_EQ(read_file(file_), sound_.substr(0, size));
    EXPECT_THROW(salvage_database(file_, folder_ / "new.db"), DatabaseError);
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
    EXPECT_GE(salvaged_rows(), kRows / 2);
  }
  EXPECT_GT(told, 75);  // of 160: many bits are free space, or of indexes that nothing reads
}

TEST_F(DamageTest, ALostTreeRootTakesNoLeafWithIt) {
  write_damaged(without_root_of("measurements"));
  EXPECT_THAT(use(Mode::read_only), HasSubstr("is damaged"));
  EXPECT_EQ(salvaged_rows(), kRows);
}

TEST_F(DamageTest, ALostSchemaAndHeaderTakeNoRowWithThem) {
  write_damaged(sound_with(0, std::string(kPage, '\0')));
  EXPECT_THAT(use(Mode::read_only), HasSubstr("is not a database"));
  EXPECT_EQ(salvaged_rows(), kRows);
}

TEST_F(DamageTest, WhatManyRowsShareComesBackFromItsIndex) {
  for (const char* table : {"devices", "problems", "configs", "kernels"}) {
    write_damaged(without_root_of(table));
    EXPECT_EQ(salvaged_rows(), kRows) << table;
    const Database salvaged(folder_ / "salvaged.db", Mode::read_only);
    EXPECT_EQ(salvaged.records(kA10, parse_problem("64x512x4096")).size(), 100u);
  }
}

TEST_F(DamageTest, RowsOutliveTheirRunAndTheirBaseline) {
  for (const char* table : {"runs", "baselines"}) {
    write_damaged(without_root_of(table));
    EXPECT_EQ(salvaged_rows(), kRows) << table;
  }
}

TEST_F(DamageTest, WhatIsLostIsCounted) {
  std::string damaged = sound_;
  const std::size_t leaf = sound_.find("[210.0,210.5,209.75]") / kPage * kPage;
  damaged.replace(leaf, kPage, kPage, '\0');
  write_damaged(damaged);
  const SalvagedTable measurements = salvage_database(file_, folder_ / "new.db").back();
  EXPECT_GT(measurements.lost, 5);
  EXPECT_EQ(measurements.kept + measurements.lost, kRows);
}

TEST_F(DamageTest, SalvagingOverwritesNothing) {
  std::ofstream(folder_ / "new.db") << "mine";
  try {
    salvage_database(file_, folder_ / "new.db");
    FAIL() << "overwrote";
  } catch (const DatabaseError& error) {
    EXPECT_THAT(error.what(), AllOf(HasSubstr("new.db' exists already"), HasSubstr("name a new")));
  }
  EXPECT_EQ(read_file(folder_ / "new.db"), "mine");
}

TEST_F(DamageTest, SalvagesWhatIsStillInTheLogOfAKilledWriter) {
  Database database = writable(file_);
  store_measured(database, kA6000, "8x8x8", kPredicated, 1);
  const fs::path copy = folder_ / "copy.db";  // as a killed writer would have left both
  fs::copy(file_, copy);
  fs::copy(file_.string() + "-wal", copy.string() + "-wal");
  EXPECT_EQ(salvage_database(copy, folder_ / "new.db").back().kept, kRows + 1);
}

TEST_F(DamageTest, TheCheckNamesRowsThatMakeNoSense) {
  SQLite::Database(file_.string(), SQLite::OPEN_READWRITE)
      .exec(
          "UPDATE configs SET text = 'naive/BM=x' WHERE id = (SELECT config_id FROM measurements "
          "WHERE id = 7);"
          "UPDATE measurements SET samples = '{}' WHERE id = 8;"
          "UPDATE measurements SET run_id = 99 WHERE id = 9;"
          "UPDATE problems SET K = 5 WHERE id = 1");
  EXPECT_THAT(check_database(file_),
              ElementsAre("measurements row 9 refers to a row of runs that does not exist",
                          "problems row 1: its text and its numbers differ",
                          HasSubstr("measurements row 7: "), HasSubstr("measurements row 8: ")));
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
