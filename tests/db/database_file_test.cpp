// SPDX-License-Identifier: Apache-2.0
// Refused files: the sentence for each kind, and that the file stays unchanged.
#include "db/file/database_file.h"

#include <SQLiteCpp/SQLiteCpp.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <functional>
#include <set>

#include "core/error.h"
#include "db/database.h"
#include "db/file/check.h"
#include "db/file/sole_writer.h"
#include "tests/db/child_process.h"
#include "tests/db/fixture.h"
#include "tests/matchers.h"

namespace gemm_tune {
namespace {

using Mode = Database::Mode;

// The sentence with which opening is refused; empty where it is not.
std::string refusal(const fs::path& path, Mode mode = Mode::create_or_open) {
  try {
    const Database database(path, mode, std::chrono::milliseconds(50));
    return "";
  } catch (const DatabaseError& error) {
    return error.what();
  }
}

class DatabaseFileTest : public DbTest {
 protected:
  // An SQLite database with these PRAGMAs and one table.
  void write_sqlite(const std::string& pragmas) {
    SQLite::Database db(file_.string(), SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE);
    db.exec(pragmas + "CREATE TABLE t (x); INSERT INTO t VALUES (1)");
  }

  std::set<std::string> names_in_folder() const {
    std::set<std::string> names;
    for (const auto& entry : fs::directory_iterator(folder_)) {
      names.insert(entry.path().filename().string());
    }
    return names;
  }

  // Refused in both modes with a sentence that says `what`, the file and its folder unchanged.
  void expect_refused_untouched(const std::string& what) {
    const std::string before = read_file(file_);
    const std::set<std::string> names = names_in_folder();
    for (const Mode mode : {Mode::create_or_open, Mode::read_only}) {
      EXPECT_THAT(refusal(file_, mode),
                  AllOf(StartsWith("database '" + file_.string() + "' "), HasSubstr(what)));
      EXPECT_EQ(read_file(file_), before);
      EXPECT_EQ(names_in_folder(), names);
    }
  }
};

TEST_F(DatabaseFileTest, RefusesADirectory) {
  EXPECT_THAT(refusal(folder_), AllOf(HasSubstr(folder_.string()), HasSubstr("is a directory")));
  EXPECT_THAT(refusal(folder_, Mode::read_only), HasSubstr("is a directory"));
  EXPECT_TRUE(names_in_folder().empty());
}

TEST_F(DatabaseFileTest, RefusesADevice) {
  EXPECT_THAT(refusal("/dev/null"), HasSubstr("is not a regular file"));
}

TEST_F(DatabaseFileTest, RefusesAnEmptyPath) {
  EXPECT_THAT(refusal(""), HasSubstr("path is empty"));
}

TEST_F(DatabaseFileTest, RefusesATextFile) {
  write_file(file_, "dear diary\n");
  expect_refused_untouched("is not a database");
}

TEST_F(DatabaseFileTest, RefusesALongTextFile) {
  write_file(file_, std::string(20000, 'x'));
  expect_refused_untouched("is not a database");
}

TEST_F(DatabaseFileTest, RefusesADatabaseOfAnotherProgram) {
  write_sqlite("PRAGMA user_version = 1; PRAGMA application_id = 42;");
  expect_refused_untouched("belongs to another program");
}

TEST_F(DatabaseFileTest, RefusesADatabaseWithoutApplicationIdEvenWithAWriteAheadLog) {
  write_sqlite("PRAGMA journal_mode = WAL;");
  expect_refused_untouched("belongs to another program");
}

TEST_F(DatabaseFileTest, RefusesADatabaseOfALaterVersionAndNamesIt) {
  for (const char* version : {"2", "99"}) {
    fs::remove(file_);
    write_sqlite(
        "PRAGMA application_id = 1735681122; PRAGMA user_version = " + std::string(version) + ";");
    expect_refused_untouched("was written by a later version of gemm-tune (schema " +
                             std::string(version) + ", this program reads schema 1)");
  }
}

TEST_F(DatabaseFileTest, RefusesADatabaseFromBeforeTheFirstReleaseWithoutNamingAWayAcross) {
  write_sqlite("PRAGMA application_id = 1734700397; PRAGMA user_version = 4;");
  expect_refused_untouched("was written before gemm-tune's first release");
}

TEST_F(DatabaseFileTest, RefusesAMissingFileForReadingAndMakesNone) {
  EXPECT_THAT(refusal(file_, Mode::read_only), HasSubstr("does not exist"));
  EXPECT_TRUE(names_in_folder().empty());
}

TEST_F(DatabaseFileTest, RefusesAnEmptyFileForReading) {
  write_file(file_, "");
  EXPECT_THAT(refusal(file_, Mode::read_only), HasSubstr("is empty"));
  EXPECT_EQ(read_file(file_), "");
}

TEST_F(DatabaseFileTest, FillsAnEmptyFile) {
  write_file(file_, "");
  EXPECT_EQ(refusal(file_), "");
  EXPECT_THAT(read_file(file_), StartsWith("SQLite format 3"));
}

TEST_F(DatabaseFileTest, MakesNoFolders) {
  EXPECT_THAT(refusal(folder_ / "a" / "b.db"),
              AllOf(HasSubstr("'" + (folder_ / "a").string() + "' does not exist")));
  EXPECT_TRUE(names_in_folder().empty());
  create_database_folder(folder_ / "a" / "b" / "c.db");
  EXPECT_EQ(refusal(folder_ / "a" / "b" / "c.db"), "");
}

TEST_F(DatabaseFileTest, SaysWhereAFolderCannotBeCreated) {
  write_file(file_, "");
  EXPECT_THROW(create_database_folder(file_ / "a" / "b.db"), DatabaseError);
}

TEST_F(DatabaseFileTest, OddNamesAreJustNames) {
  for (const std::string name : {"file:x?mode=memory", ":memory:", "a b'c%20#.db"}) {
    writable(folder_ / name);
    EXPECT_TRUE(fs::exists(folder_ / name)) << name;
    EXPECT_EQ(refusal(folder_ / name, Mode::read_only), "");
  }
}

TEST_F(DatabaseFileTest, RefusesAFolderThatCannotBeWritten) {
  ASSERT_EQ(chmod(folder_.c_str(), 0555), 0);
  EXPECT_THAT(in_child([&] {
                become_nobody();
                return refusal(file_);
              }),
              AllOf(HasSubstr(file_.string()), HasSubstr("is not writable")));
  ASSERT_EQ(chmod(folder_.c_str(), 0755), 0);
  EXPECT_TRUE(names_in_folder().empty());
}

TEST_F(DatabaseFileTest, RefusesToWriteAReadOnlyFile) {
  writable(file_);
  ASSERT_EQ(chmod(folder_.c_str(), 0777), 0);
  ASSERT_EQ(chmod(file_.c_str(), 0444), 0);
  const std::string before = read_file(file_);
  EXPECT_THAT(in_child([&] {
                become_nobody();
                return refusal(file_);
              }),
              HasSubstr("the file is read-only"));
  EXPECT_EQ(read_file(file_), before);
}

TEST_F(DatabaseFileTest, RefusesAFileThatCannotBeRead) {
  writable(file_);
  ASSERT_EQ(chmod(folder_.c_str(), 0755), 0);
  ASSERT_EQ(chmod(file_.c_str(), 0000), 0);
  EXPECT_THAT(in_child([&] {
                become_nobody();
                return refusal(file_, Mode::read_only);
              }),
              HasSubstr("cannot be read: Permission denied"));
}

TEST_F(DatabaseFileTest, ReadsInAFolderThatCannotBeWritten) {
  {
    Database database = writable(file_);
    store_measured(database, kA6000, "1024x1024x1024", kWholeTiles, 60);
  }
  ASSERT_EQ(chmod(folder_.c_str(), 0555), 0);
  EXPECT_EQ(in_child([&] {
              become_nobody();
              const Database database(file_, Mode::read_only);
              return database.records(kA6000, k1024).at(0).config;
            }),
            kWholeTiles);
  ASSERT_EQ(chmod(folder_.c_str(), 0755), 0);
}

TEST_F(DatabaseFileTest, LeavesNoSideFilesBehind) {
  {
    Database database = writable(file_);
    store_measured(database, kA6000, "1024x1024x1024", kWholeTiles, 60);
    EXPECT_GT(names_in_folder().size(), 1u);  // the log, while it is open
  }
  EXPECT_THAT(names_in_folder(), ElementsAre("tune.db"));
  const std::string before = read_file(file_);
  {
    const Database database(file_, Mode::read_only);
    EXPECT_EQ(database.records(kA6000, k1024).size(), 1u);
  }
  EXPECT_THAT(names_in_folder(), ElementsAre("tune.db"));
  EXPECT_EQ(read_file(file_), before);
}

TEST_F(DatabaseFileTest, DoesNotWriteWhenOpenForReading) {
  writable(file_);
  Database database(file_, Mode::read_only);
  try {
    database.begin_run(kRun);
    FAIL() << "wrote";
  } catch (const DatabaseError& error) {
    EXPECT_THAT(error.what(), HasSubstr("open for reading only"));
  }
}

TEST_F(DatabaseFileTest, EveryStoredRowSurvivesAKilledProcess) {
  EXPECT_THAT(in_child([&]() -> std::string {
                Database database = writable(file_);
                store_measured(database, kA6000, "1024x1024x1024", kWholeTiles, 60);
                raise(SIGKILL);
                return "";
              }),
              EndsWith("(child died)"));
  const Database database(file_, Mode::read_only);
  EXPECT_EQ(database.records(kA6000, k1024).size(), 1u);
}

#ifndef GT_SANITIZED  // UBSan looks at an exception's type through a pipe, for which no descriptor
                      // is left
TEST_F(DatabaseFileTest, SaysThatNoMoreFilesCanBeOpened) {
  { const Database database = writable(file_); }
  const std::string said = in_child([&] {
    std::string sentences;
    for (rlim_t files = 3; files < 12; ++files) {
      const rlimit limit{files, 64};
      setrlimit(RLIMIT_NOFILE, &limit);
      try {
        const Database database = writable(file_);
      } catch (const DatabaseError& error) {
        sentences += error.what() + std::string("\n");
      }
    }
    return sentences;
  });
  EXPECT_THAT(said, HasSubstr("cannot be opened or created"));
  EXPECT_THAT(said, testing::Not(HasSubstr("was deleted")));
  EXPECT_THAT(said, testing::Not(HasSubstr("failed: ")));
}
#endif

TEST_F(DatabaseFileTest, SaysThatTheDatabaseIsLocked) {
  Database database(file_, Mode::create_or_open, std::chrono::milliseconds(20));
  SQLite::Database other(file_.string(), SQLite::OPEN_READWRITE);
  other.exec("BEGIN IMMEDIATE");
  try {
    database.begin_run(kRun);
    FAIL() << "wrote through a lock";
  } catch (const DatabaseError& error) {
    EXPECT_THAT(error.what(), AllOf(HasSubstr(file_.string()), HasSubstr("is locked")));
  }
  other.exec("ROLLBACK");
  database.begin_run(kRun);
  store_measured(database, kA6000, "1024x1024x1024", kWholeTiles, 60);
}

TEST_F(DatabaseFileTest, SaysAtOpeningThatTheDatabaseIsLocked) {
  Database(file_, Mode::create_or_open, std::chrono::milliseconds(20),
           Database::Journaling::rollback);
  const std::string before = read_file(file_);
  SQLite::Database other(file_.string(), SQLite::OPEN_READWRITE);
  other.exec("BEGIN EXCLUSIVE");
  for (const Mode mode : {Mode::create_or_open, Mode::read_only}) {
    EXPECT_THAT(refusal(file_, mode),
                AllOf(HasSubstr(file_.string()), HasSubstr("is locked by another process: try")));
  }
  other.exec("ROLLBACK");
  EXPECT_EQ(read_file(file_), before);
  EXPECT_EQ(refusal(file_), "");
}

TEST_F(DatabaseFileTest, TellsOnceThatItWaitsForALock) {
  int told = 0;
  std::chrono::milliseconds waited{0}, told_after{0};
  LockWait wait(std::chrono::milliseconds(1500), [&] {
    ++told;
    told_after = waited;
  });
  wait.pause = [&](std::chrono::milliseconds time) { waited += time; };
  Database database(file_, Mode::create_or_open, wait);
  SQLite::Database other(file_.string(), SQLite::OPEN_READWRITE);
  other.exec("BEGIN IMMEDIATE");
  EXPECT_THROW(database.begin_run(kRun), DatabaseError);
  EXPECT_EQ(told, 1);
  EXPECT_EQ(told_after, std::chrono::seconds(1));
  EXPECT_EQ(waited, std::chrono::milliseconds(1500));
  other.exec("ROLLBACK");
  database.begin_run(kRun);
  EXPECT_EQ(told, 1) << "no wait, no word";
}

// Of this process, on the file itself, as another process sees them.
bool is_locked(const fs::path& path) {
  return in_child([&]() -> std::string {
           const int fd = open(path.c_str(), O_RDWR | O_CLOEXEC);
           struct flock lock {};
           lock.l_type = F_WRLCK;
           lock.l_whence = SEEK_SET;  // the whole file and beyond
           if (fd < 0 || fcntl(fd, F_GETLK, &lock) != 0) return "cannot be asked";
           return lock.l_type == F_UNLCK ? "free" : "locked";
         }) == "locked";
}

TEST_F(DatabaseFileTest, NoOtherConnectionOfTheProcessDropsTheLocksOfOne) {
  for (const auto journaling :
       {Database::Journaling::by_file_system, Database::Journaling::rollback}) {
    Database database(file_, Mode::create_or_open, {}, journaling);
    database.begin_run(kRun);
    database.together([&] {
      store_measured(database, kA6000, "1024x1024x1024", kWholeTiles, 60);
      ASSERT_TRUE(is_locked(file_));
      database.journal();
      EXPECT_TRUE(is_locked(file_)) << "after a question";
      Database(file_, Mode::read_only).journal();
      EXPECT_TRUE(is_locked(file_)) << "after a reader that came and went";
      EXPECT_EQ(check_database(file_, {}), std::vector<std::string>());
      EXPECT_TRUE(is_locked(file_)) << "after a check";
    });
    database.confirm_stored();
    if (journaling == Database::Journaling::by_file_system) {
      EXPECT_TRUE(is_locked(file_)) << "as long as the write-ahead log is in use";
    }
  }
}

TEST_F(DatabaseFileTest, AFileThatIsDeletedMovedOrReplacedIsAnErrorAtTheEndOfTheRun) {
  const fs::path elsewhere = folder_ / "elsewhere.db";
  const std::function<void()> kChanges[] = {
      [&] { fs::remove(file_); },
      [&] { fs::rename(file_, elsewhere); },
      [&] {
        writable(elsewhere);
        fs::rename(elsewhere, file_);
      },
  };
  for (const auto& change : kChanges) {
    Database database = writable(file_);
    database.confirm_stored();
    store_measured(database, kA6000, "1024x1024x1024", kWholeTiles, 60);
    change();
    try {
      database.confirm_stored();
      ADD_FAILURE() << "no error";
    } catch (const DatabaseError& error) {
      EXPECT_THAT(error.what(), HasSubstr("was deleted, moved or replaced during the run"));
    }
    for (const char* suffix : {"", "-wal", "-shm"}) fs::remove(file_.string() + suffix);
  }
}

TEST_F(DatabaseFileTest, AFileThatIsMovedDuringTheRunHoldsItsRows) {
  const fs::path elsewhere = folder_ / "elsewhere.db";
  {
    Database database = writable(file_);
    store_measured(database, kA6000, "1024x1024x1024", kWholeTiles, 60);
    fs::rename(file_, elsewhere);
    EXPECT_THROW(database.confirm_stored(), DatabaseError);
  }
  int rows = 0;
  Database(elsewhere, Mode::read_only).for_each_record([&](const Record&) { ++rows; });
  EXPECT_EQ(rows, 1);
}

TEST_F(DatabaseFileTest, WithARollbackJournalTheNextRowOfADeletedFileIsTheError) {
  Database database(file_, Mode::create_or_open, {}, Database::Journaling::rollback);
  database.begin_run(kRun);
  fs::remove(file_);
  EXPECT_THAT([&] { store_measured(database, kA6000, "1024x1024x1024", kWholeTiles, 60); },
              ThrowsMessage<DatabaseError>(HasSubstr("was deleted, moved or replaced")));
}

TEST_F(DatabaseFileTest, AReaderWithoutWriteAccessBlamesNobodyForTheJournal) {
  writable(file_);
  fs::permissions(folder_, fs::perms::owner_read | fs::perms::owner_exec | fs::perms::others_read |
                               fs::perms::others_exec);
  EXPECT_EQ(in_child([&] {
              become_nobody();
              const Database::Journal journal = Database(file_, Mode::read_only).journal();
              return journal.mode + ";" + journal.why;
            }),
            "wal;");
  fs::permissions(folder_, fs::perms::owner_all);
}

TEST_F(DatabaseFileTest, SaysHowItIsJournalled) {
  EXPECT_EQ(writable(file_).journal().mode, "wal");
  EXPECT_EQ(writable(file_).journal().why, "");
  EXPECT_EQ(network_file_system("/proc"), std::nullopt);
  EXPECT_EQ(network_file_system("/no/such/folder"), "unknown");
}

TEST_F(DatabaseFileTest, SaysThatAFileLimitIsReachedAndKeepsWhatWasStored) {
  writable(file_);
  const std::string said = in_child([&]() -> std::string {
    Database database = writable(file_);
    limit_file_size(fs::file_size(file_) + 40000);
    for (int i = 1; i <= 1000; ++i) {
      try {
        store_measured(database, kA6000, std::to_string(i) + "x1024x1024", kWholeTiles, 60);
      } catch (const DatabaseError& error) {
        return std::to_string(i - 1) + " " + error.what();
      }
    }
    return "no limit reached";
  });
  EXPECT_THAT(said,
              HasSubstr("cannot be written: the disk is full, a limit on file sizes is reached"));
  const Database database(file_, Mode::read_only);
  EXPECT_EQ(database.winners("sm_86", kRevisions).size(), std::stoul(said));
}

TEST_F(DatabaseFileTest, IsReadWhereTheDiskHasNoRoomForTheLogsIndex) {
  {
    Database database = writable(file_);
    store_measured(database, kA6000, "1024x1024x1024", kWholeTiles, 100);
  }
  EXPECT_EQ(in_child([&] {
              limit_file_size(4096);
              std::size_t rows = 0;
              Database(file_, Mode::read_only).for_each_record([&](const Record&) { ++rows; });
              return std::to_string(rows) + " rows, " +
                     (check_database(file_).empty() ? "sound" : "unsound");
            }),
            "1 rows, sound");
  EXPECT_EQ(refusal(file_), "");
}

TEST_F(DatabaseFileTest, AFileThatCannotBeCreatedWholeIsNotCreated) {
  EXPECT_THAT(in_child([&] {
                limit_file_size(8192);
                return refusal(file_);
              }),
              HasSubstr("cannot be written"));
  EXPECT_TRUE(names_in_folder().empty());
}

TEST_F(DatabaseFileTest, CallsAFullDiskAFullDisk) {
  const DatabaseError full = translated("/x.db", SQLite::Exception("", 13));  // SQLITE_FULL
  EXPECT_THAT(full.what(), AllOf(HasSubstr("'/x.db'"), HasSubstr("disk is full")));
}

TEST_F(DatabaseFileTest, ManyProcessesCreateAndWriteOneFile) {
  constexpr int kProcesses = 8, kRows = 20;
  std::vector<pid_t> children;
  for (int process = 0; process < kProcesses; ++process) {
    const pid_t child = fork();
    if (child == 0) {
      int failures = 0;
      try {
        Database database = writable(file_);
        for (int row = 0; row < kRows; ++row) {
          store_measured(database, kA6000, std::to_string(process * kRows + row + 1) + "x8x8",
                         kPredicated, 60);
        }
      } catch (const std::exception& error) {
        fprintf(stderr, "%s\n", error.what());
        failures = 1;
      }
      _exit(failures);
    }
    children.push_back(child);
  }
  for (const pid_t child : children) {
    int status = 0;
    waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
  }
  const Database database(file_, Mode::read_only);
  EXPECT_EQ(database.winners("sm_86", kRevisions).size(), 160u);
}

TEST(SoleWriterTest, ASecondJobIsRefusedByHostAndProcessAndAKilledOneOfThisHostHindersNobody) {
  const TempFolder folder;
  const fs::path path = folder.path() / "tune.db", beside = folder.path() / "tune.db-job";
  const auto refusal = [&](const std::string& host) -> std::string {
    try {
      const SoleWriter writer(path, host);
    } catch (const DatabaseError& error) {
      return error.what();
    }
    return "";
  };
  {
    const SoleWriter first(path, "node1");
    const std::string whom = "on host node1 (process " + std::to_string(getpid()) + ")";
    EXPECT_THAT(refusal("node1"), AllOf(HasSubstr(whom), EndsWith("wait for its end")));
    EXPECT_THAT(refusal("node2"), AllOf(HasSubstr(whom), HasSubstr("delete '" + beside.string())));
  }
  EXPECT_FALSE(fs::exists(beside));
  std::ofstream(beside) << "node1 4711\n";  // a job that was killed
  EXPECT_THAT(refusal("node2"), HasSubstr("node1 (process 4711)"));
  EXPECT_EQ(refusal("node1"), "");
}

}  // namespace
}  // namespace gemm_tune
