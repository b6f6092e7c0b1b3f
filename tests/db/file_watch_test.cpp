// SPDX-License-Identifier: Apache-2.0
// A database whose file is deleted, moved or replaced while it is open for writing.
#include "db/file_watch.h"

#include <gmock/gmock.h>

#include <fstream>
#include <functional>

#include "core/error.h"
#include "tests/db/fixture.h"
#include "tests/temp_folder.h"

namespace gemm_tune {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

const std::string kConfigs[] = {kWholeTiles, kPredicated};

class FileWatchTest : public DbTest {
 protected:
  static void store(Database& database, int number) {
    store_measured(database, kA6000, "1024x1024x1024", kConfigs[number], 100 + number);
  }

  // As another process finds them: in a copy, since connections of one process share what they
  // know of a file.
  std::size_t rows_at(const fs::path& path) const {
    const TempFolder elsewhere;
    const fs::path copy = elsewhere.path() / "copy.db";
    for (const char* suffix : {"", "-wal"}) {
      if (fs::exists(path.string() + suffix)) {
        fs::copy_file(path.string() + suffix, copy.string() + suffix);
      }
    }
    std::size_t rows = 0;
    Database(copy, Database::Mode::read_only).for_each_record([&](const Record&) { ++rows; });
    return rows;
  }

  // Other files than the database and its log.
  std::vector<fs::path> others() const {
    std::vector<fs::path> found;
    for (const auto& entry : fs::directory_iterator(folder_)) {
      if (!entry.path().string().starts_with(file_.string()) ||
          entry.path().string().starts_with(file_.string() + ".")) {
        found.push_back(entry.path());
      }
    }
    return found;
  }

  static std::string failure(const std::function<void()>& act) {
    try {
      act();
    } catch (const DatabaseError& error) {
      return error.what();
    }
    return "";
  }

  void remove_all_files() const {
    for (const char* suffix : {"", "-wal", "-shm"}) fs::remove(file_.string() + suffix);
  }
};

TEST_F(FileWatchTest, ADeletedFileIsPutBackWithAllItsRowsAndTheRunGoesOn) {
  const std::function<void()> ways[] = {
      [&] { fs::remove(file_); },
      [&] { remove_all_files(); },
      [&] { fs::remove_all(folder_); },
  };
  for (const auto& remove : ways) {
    for (const auto journaling :
         {Database::Journaling::by_file_system, Database::Journaling::rollback}) {
      remove_all_files();
      Database database(file_, Database::Mode::create_or_open, std::chrono::seconds(1), journaling);
      database.begin_run(kRun);
      store(database, 0);
      EXPECT_EQ(database.mended(), "");
      remove();
      store(database, 1);
      EXPECT_EQ(rows_at(file_), 2u);
      EXPECT_THAT(database.mended(), HasSubstr("was deleted during the run"));
      EXPECT_THAT(others(), testing::IsEmpty());
      database.confirm_stored();
    }
  }
}

TEST_F(FileWatchTest, AFileDeletedAfterTheLastRowIsPutBackBeforeTheRunSaysThatItIsStored) {
  Database database = writable(file_);
  store(database, 0);
  fs::permissions(file_, fs::perms::owner_read | fs::perms::owner_write | fs::perms::group_read);
  remove_all_files();
  database.confirm_stored();
  EXPECT_EQ(rows_at(file_), 1u);
  EXPECT_EQ(fs::status(file_).permissions(),
            fs::perms::owner_read | fs::perms::owner_write | fs::perms::group_read);
}

TEST_F(FileWatchTest, ALinksTargetIsPutBackWhereItWas) {
  const fs::path link = folder_ / "link.db";
  fs::create_symlink(file_, link);
  Database database = writable(link);
  store(database, 0);
  remove_all_files();
  store(database, 1);
  EXPECT_TRUE(fs::is_symlink(link));
  EXPECT_EQ(rows_at(file_), 2u);
}

TEST_F(FileWatchTest, AnotherFileInItsPlaceStaysAndTheRowsAreKeptBesideIt) {
  const fs::path other = folder_ / "other.db";
  {
    Database theirs = writable(other);
    store(theirs, 1);
  }
  for (const bool is_database : {true, false}) {
    Database database = writable(file_);
    store(database, 0);
    if (!is_database) std::ofstream(other) << "text";
    remove_all_files();
    fs::rename(other, file_);
    const auto size = fs::file_size(file_);
    for (const std::string& sentence :
         {failure([&] { store(database, 1); }), failure([&] { database.confirm_stored(); })}) {
      EXPECT_THAT(sentence, HasSubstr("was replaced by another file during the run"));
      const auto begin = sentence.rfind(" '") + 2;
      EXPECT_EQ(rows_at(sentence.substr(begin, sentence.rfind('\'') - begin)), 1u) << sentence;
    }
    EXPECT_EQ(fs::file_size(file_), size);
    remove_all_files();
  }
}

TEST_F(FileWatchTest, AFilePutOverItIsNotMixedWithTheLogOfTheRun) {
  const fs::path other = folder_ / "other.db";
  {
    Database theirs = writable(other);
    store(theirs, 1);
  }
  Database database = writable(file_);
  store(database, 0);
  fs::rename(other, file_);  // as of a copy that is restored; the run's log stays
  EXPECT_THAT(failure([&] { database.confirm_stored(); }), HasSubstr("was replaced"));
  EXPECT_FALSE(fs::exists(file_.string() + "-wal"));
  EXPECT_FALSE(fs::exists(file_.string() + "-shm"));
  Database(file_, Database::Mode::read_only).for_each_record([&](const Record& record) {
    EXPECT_EQ(record.config, kConfigs[1]);
  });
}

TEST_F(FileWatchTest, AMovedFileBehindALinkAtItsOldPlaceCountsAsMoved) {
  const fs::path moved = folder_ / "moved.db";
  Database database = writable(file_);
  store(database, 0);
  fs::rename(file_, moved);
  fs::create_symlink(moved, file_);
  EXPECT_THAT(failure([&] { store(database, 1); }),
              HasSubstr("was moved to '" + moved.string() + "'"));
  EXPECT_THAT(others(), testing::ElementsAre(moved));
  EXPECT_FALSE(fs::exists(file_.string() + "-wal"));
  EXPECT_EQ(rows_at(moved), 1u);
}

TEST_F(FileWatchTest, AMovedFileHasTheRowsAndTheSentenceNamesIt) {
  const fs::path moved = folder_ / "moved.db";
  {
    Database database = writable(file_);
    store(database, 0);
    fs::rename(file_, moved);
    EXPECT_THAT(failure([&] { store(database, 1); }),
                HasSubstr("was moved to '" + moved.string() + "'"));
    EXPECT_THAT(failure([&] { database.confirm_stored(); }), HasSubstr(moved.string()));
    EXPECT_EQ(rows_at(moved), 1u);
  }
  EXPECT_EQ(rows_at(moved), 1u);
  EXPECT_FALSE(fs::exists(file_));
}

TEST_F(FileWatchTest, ALogThatIsDeletedAloneCostsNoRow) {
  for (const std::string suffix : {"-wal", "-shm"}) {
    remove_all_files();
    Database database = writable(file_);
    store(database, 0);
    ASSERT_TRUE(fs::remove(file_.string() + suffix));
    store(database, 1);
    EXPECT_EQ(rows_at(file_), 2u) << suffix;
    EXPECT_THAT(database.mended(), HasSubstr("lost its write-ahead log"));
    ASSERT_TRUE(fs::remove(file_.string() + suffix));
    database.confirm_stored();
    EXPECT_EQ(rows_at(file_), 2u) << suffix;
  }
}

TEST_F(FileWatchTest, ARunWhoseFileWasReplacedLeavesTheLogOfTheOtherFileAlone) {
  auto old = std::make_unique<Database>(writable(file_));
  store(*old, 0);
  remove_all_files();
  Database other = writable(file_);
  store(other, 1);
  EXPECT_NE(failure([&] { store(*old, 1); }), "");
  old.reset();
  EXPECT_TRUE(fs::exists(file_.string() + "-wal"));
  EXPECT_EQ(rows_at(file_), 1u);
  other.confirm_stored();
  EXPECT_EQ(other.mended(), "");
}

TEST_F(FileWatchTest, ALogThatAnotherProgramBeganInItsPlaceStays) {
  Database database = writable(file_);
  store(database, 0);
  fs::remove(file_.string() + "-wal");
  std::ofstream(file_.string() + "-wal") << "another";
  EXPECT_THAT(failure([&] { store(database, 1); }), HasSubstr("got another write-ahead log"));
}

TEST_F(FileWatchTest, AFileThatIsOverwrittenInPlaceIsNoticedAtTheEnd) {
  { writable(folder_ / "other.db"); }
  for (const auto journaling :
       {Database::Journaling::by_file_system, Database::Journaling::rollback}) {
    remove_all_files();
    Database database(file_, Database::Mode::create_or_open, std::chrono::seconds(1), journaling);
    database.begin_run({"0.1.0", "13.0", "", "another command", 8});
    store(database, 0);
    database.confirm_stored();
    std::ofstream(file_, std::ios::binary)
        << std::ifstream(folder_ / "other.db", std::ios::binary).rdbuf();
    std::error_code none_with_rollback;
    fs::resize_file(file_.string() + "-wal", 0, none_with_rollback);
    EXPECT_NE(failure([&] { database.confirm_stored(); }), "");
  }
}

}  // namespace
}  // namespace gemm_tune
