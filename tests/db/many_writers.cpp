// SPDX-License-Identifier: Apache-2.0
// many_writers ROWS wal|delete: eight processes create and write one database at once.
//
// Every process stores so many rows as fast as it can, reads between them, and closes and opens the
// file now and then, as programs in several terminals do. No call may fail, in particular not with
// "locked", and every row that a process reports as stored must be found. Exits with 1 otherwise.
#include <SQLiteCpp/SQLiteCpp.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "tests/db/fixture.h"

namespace {

using namespace gemm_tune;

constexpr int kProcesses = 8;

struct Job {
  std::filesystem::path file;
  Database::Journaling journaling;
  int rows;
};

std::string problem_of(int process) { return std::to_string(process + 1) + "x8x8"; }

void write_rows(const Job& job, int process) {
  for (int row = 0; row < job.rows;) {
    Database database(job.file, Database::Mode::create_or_open, std::chrono::minutes(10),
                      job.journaling);
    database.begin_run(kRun);
    for (int i = 0; i < 25 && row < job.rows; ++i) {
      store_measured(database, kA6000, problem_of(process),
                     "naive/BM=" + std::to_string(++row) + ",BN=1", 60);
      if (i % 10 == 0) database.devices();
    }
  }
}

// In a process of its own.
pid_t start(const Job& job, int process) {
  const pid_t child = fork();
  if (child != 0) return child;
  try {
    write_rows(job, process);
    _exit(0);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "process %d: %s\n", process, error.what());
  }
  _exit(1);
}

bool run(const Job& job) {
  std::vector<pid_t> children;
  for (int process = 0; process < kProcesses; ++process) children.push_back(start(job, process));
  bool good = true;
  for (const pid_t child : children) {
    int status = 0;
    good = waitpid(child, &status, 0) == child && status == 0 && good;
  }
  int found_rows = 0;
  {
    const Database database(job.file, Database::Mode::read_only);
    for (int process = 0; process < kProcesses; ++process) {
      const auto rows = database.records(kA6000, parse_problem(problem_of(process))).size();
      good = static_cast<int>(rows) == job.rows && good;
      found_rows += static_cast<int>(rows);
    }
  }
  SQLite::Database db(job.file.string());
  const std::string mode = db.execAndGet("PRAGMA journal_mode").getString();
  const std::string integrity = db.execAndGet("PRAGMA integrity_check").getString();
  std::printf("%d processes, %s: %d rows each, %d found, %s\n", kProcesses, mode.c_str(), job.rows,
              found_rows, integrity == "ok" ? "sound" : integrity.c_str());
  const bool wal = job.journaling == Database::Journaling::by_file_system;
  return good && integrity == "ok" && mode == (wal ? "wal" : "delete");
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: many_writers ROWS wal|delete\n");
    return 2;
  }
  bool good = false;
  try {
    const TempFolder folder;
    good = run({folder.path() / "tune.db",
                std::string(argv[2]) == "delete" ? Database::Journaling::rollback
                                                 : Database::Journaling::by_file_system,
                std::atoi(argv[1])});
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
  }
  return good ? 0 : 1;
}
