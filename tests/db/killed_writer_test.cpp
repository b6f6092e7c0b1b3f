// SPDX-License-Identifier: Apache-2.0
// A writer that is killed at any of its writes leaves a sound database that holds every row it had
// stored.
#include <SQLiteCpp/SQLiteCpp.h>
#include <gmock/gmock.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/db/fixture.h"
#include "tests/db/killed_at_call.h"
#include "tests/rounds.h"

namespace gemm_tune {
namespace {

class KilledWriterTest : public DbTest {
 protected:
  static std::string problem_of(int writer) { return std::to_string(writer) + "x8x8"; }

  // Stores some rows, and writes a byte for each after it is stored.
  void store_rows(int writer, int pipe_end, Database::Journaling journaling) const {
    Database database(file_, Database::Mode::create_or_open, std::chrono::minutes(10), journaling);
    database.begin_run(kRun);
    for (int row = 1; row <= 3; ++row) {
      store_measured(database, kA6000, problem_of(writer), "naive/BM=" + std::to_string(row), 60);
      if (write(pipe_end, "+", 1) != 1) _exit(1);
    }
  }

  struct Ending {
    std::size_t rows = 0;  // that were reported as stored
    bool was_killed = false;
  };

  Ending killed_at(int call, int writer, Database::Journaling journaling) const {
    int ends[2];
    if (pipe(ends) != 0) throw std::runtime_error("pipe failed");
    const pid_t child = fork();
    if (child == 0) {
      try {
        kill_at_call(call);
        store_rows(writer, ends[1], journaling);
        _exit(0);
      } catch (const std::exception& error) {
        fprintf(stderr, "%s\n", error.what());
      }
      _exit(1);
    }
    close(ends[1]);
    Ending ending;
    for (char byte; read(ends[0], &byte, 1) == 1;) ++ending.rows;
    close(ends[0]);
    int status = 0;
    waitpid(child, &status, 0);
    ending.was_killed = WIFSIGNALED(status);
    EXPECT_TRUE(ending.was_killed || WEXITSTATUS(status) == 0) << "the writer failed by itself";
    return ending;
  }

  void remove_database() const {
    for (const char* const end : {"", "-wal", "-shm", "-journal"}) {
      std::filesystem::remove(file_.string() + end);
    }
  }

  // At every so-manieth call, first of writers that make a database, then of writers of one that is
  // there.
  void kill_at_calls(int step, Database::Journaling journaling) const {
    for (const bool is_new : {true, false}) {
      Ending ending{0, true};
      int call = 1 - step;
      while (ending.was_killed) {
        if (is_new) remove_database();
        call += step;
        const int writer = call + (is_new ? 0 : 1000);
        ending = killed_at(call, writer, journaling);
        if (!std::filesystem::exists(file_)) continue;  // killed before it was made
        SQLite::Database db(file_.string(), SQLite::OPEN_READWRITE);
        ASSERT_EQ(db.execAndGet("PRAGMA integrity_check").getString(), "ok") << call;
        std::size_t found = 0;
        if (db.tableExists("measurements")) {
          const Database database(file_, Database::Mode::read_only);
          found = database.records(kA6000, parse_problem(problem_of(writer))).size();
        }
        // The last row may have been stored and not yet reported.
        EXPECT_THAT(found, testing::AnyOf(ending.rows, ending.rows + 1)) << call;
      }
      EXPECT_EQ(ending.rows, 3u);
      EXPECT_GT(call, 10) << "these are not SQLite's calls";
    }
  }
};

TEST_F(KilledWriterTest, LosesNoStoredRowWithAWriteAheadLog) {
  kill_at_calls(rounds(3, 1), Database::Journaling::by_file_system);
}

TEST_F(KilledWriterTest, LosesNoStoredRowWithARollbackJournal) {
  kill_at_calls(rounds(5, 1), Database::Journaling::rollback);
}

}  // namespace
}  // namespace gemm_tune
