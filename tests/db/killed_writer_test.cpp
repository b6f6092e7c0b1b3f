// SPDX-License-Identifier: Apache-2.0
// A writer killed at any moment leaves a sound database that holds every row it had stored.
#include <SQLiteCpp/SQLiteCpp.h>
#include <gmock/gmock.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <random>
#include <thread>

#include "tests/db/fixture.h"
#include "tests/rounds.h"

namespace gemm_tune {
namespace {

class KilledWriterTest : public DbTest {
 protected:
  static std::string problem_of(int round) { return std::to_string(round + 1) + "x8x8"; }

  // Stores rows and writes a byte for each after it is stored, until it is killed.
  [[noreturn]] void store_for_ever(int round, int pipe_end, Database::Journaling journaling) const {
    Database database(file_, Database::Mode::create_or_open, std::chrono::seconds(30), journaling);
    database.begin_run(kRun);
    for (int row = 1;; ++row) {
      store_measured(database, kA6000, problem_of(round), "naive/BM=" + std::to_string(row), 60);
      if (write(pipe_end, "+", 1) != 1) _exit(1);
    }
  }

  // How many rows a writer had reported when it was killed: some rows and some microseconds after
  // its start.
  int rows_before_kill(int round, Database::Journaling journaling, std::mt19937& random) const {
    int ends[2];
    if (pipe(ends) != 0) throw std::runtime_error("pipe failed");
    const pid_t child = fork();
    if (child == 0) {
      try {
        store_for_ever(round, ends[1], journaling);
      } catch (const std::exception& error) {
        fprintf(stderr, "%s\n", error.what());
      }
      _exit(1);
    }
    close(ends[1]);
    int rows = 0;
    char byte;
    for (const auto wanted = random() % 10; rows < static_cast<int>(wanted); ++rows) {
      if (read(ends[0], &byte, 1) != 1) break;
    }
    std::this_thread::sleep_for(std::chrono::microseconds(random() % 2000));
    kill(child, SIGKILL);
    while (read(ends[0], &byte, 1) == 1) ++rows;
    close(ends[0]);
    int status = 0;
    waitpid(child, &status, 0);
    EXPECT_TRUE(WIFSIGNALED(status)) << "the writer failed by itself";
    return rows;
  }

  void kill_writers(int rounds, Database::Journaling journaling) const {
    std::mt19937 random(1);
    std::vector<int> reported;
    for (int round = 0; round < rounds; ++round) {
      reported.push_back(rows_before_kill(round, journaling, random));
      if (!std::filesystem::exists(file_)) continue;  // killed before it was made
      SQLite::Database db(file_.string(), SQLite::OPEN_READWRITE);
      ASSERT_EQ(db.execAndGet("PRAGMA integrity_check").getString(), "ok") << "round " << round;
    }
    int total = 0;
    const Database database(file_, Database::Mode::read_only);
    for (int round = 0; round < rounds; ++round) {
      const int before = reported[static_cast<std::size_t>(round)];
      const auto found = database.records(kA6000, parse_problem(problem_of(round))).size();
      // The last row may have been stored and not yet reported.
      EXPECT_THAT(found, testing::AnyOf(before, before + 1)) << "round " << round;
      total += before;
    }
    EXPECT_GE(total, rounds);  // enough was at stake
  }
};

TEST_F(KilledWriterTest, LosesNoStoredRowWithAWriteAheadLog) {
  kill_writers(rounds(40, 200), Database::Journaling::by_file_system);
}

TEST_F(KilledWriterTest, LosesNoStoredRowWithARollbackJournal) {
  kill_writers(rounds(8, 40), Database::Journaling::rollback);
}

}  // namespace
}  // namespace gemm_tune
