// SPDX-License-Identifier: Apache-2.0
// many_writers SECONDS wal|delete: eight processes create and write one database at once.
//
// Every process stores rows as fast as it can, reads between them, and closes and opens the file
// now and then, as programs in several terminals do. No call may fail, in particular not with
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
using Clock = std::chrono::steady_clock;
using Seconds = std::chrono::duration<double>;

constexpr int kProcesses = 8;

struct Job {
  std::filesystem::path file;
  Database::Journaling journaling;
  Seconds duration;
};

struct Written {
  int rows = 0;
  double longest_wait_s = 0;  // of one call
};

std::string problem_of(int process) { return std::to_string(process + 1) + "x8x8"; }

Written write_rows(const Job& job, int process) {
  Written written;
  const auto end = Clock::now() + job.duration;
  auto before = Clock::now();
  const auto note_wait = [&] {
    const auto now = Clock::now();
    written.longest_wait_s = std::max(written.longest_wait_s, Seconds(now - before).count());
    before = now;
  };
  while (before < end) {
    Database database(job.file, Database::Mode::create_or_open, std::chrono::seconds(30),
                      job.journaling);
    database.begin_run(kRun);
    note_wait();
    for (int i = 0; i < 100 && before < end; ++i) {
      store_measured(database, kA6000, problem_of(process),
                     "naive/BM=" + std::to_string(written.rows + 1) + ",BN=1", 60);
      ++written.rows;
      note_wait();
      if (i % 20 == 0) database.devices();
    }
  }
  return written;
}

// In a process of its own, which tells through the pipe.
pid_t start(const Job& job, int process, int pipe_end) {
  const pid_t child = fork();
  if (child != 0) return child;
  int code = 1;
  try {
    const Written written = write_rows(job, process);
    code = write(pipe_end, &written, sizeof written) == sizeof written ? 0 : 1;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "process %d: %s\n", process, error.what());
  }
  _exit(code);
}

bool run(const Job& job) {
  std::vector<pid_t> children;
  std::vector<int> pipes;
  for (int process = 0; process < kProcesses; ++process) {
    int ends[2];
    if (pipe(ends) != 0) return false;
    children.push_back(start(job, process, ends[1]));
    close(ends[1]);
    pipes.push_back(ends[0]);
  }
  bool good = true;
  int written_rows = 0, found_rows = 0;
  double longest_wait_s = 0;
  std::vector<Written> all(kProcesses);
  for (std::size_t i = 0; i < children.size(); ++i) {
    int status = 0;
    good = read(pipes[i], &all[i], sizeof all[i]) == sizeof all[i] && good;
    good = waitpid(children[i], &status, 0) == children[i] && status == 0 && good;
    close(pipes[i]);
    written_rows += all[i].rows;
    longest_wait_s = std::max(longest_wait_s, all[i].longest_wait_s);
  }
  {
    const Database database(job.file, Database::Mode::read_only);
    for (int process = 0; process < kProcesses; ++process) {
      const auto rows = database.records(kA6000, parse_problem(problem_of(process))).size();
      good = static_cast<int>(rows) == all[static_cast<std::size_t>(process)].rows && good;
      found_rows += static_cast<int>(rows);
    }
  }
  SQLite::Database db(job.file.string());
  const std::string mode = db.execAndGet("PRAGMA journal_mode").getString();
  const std::string integrity = db.execAndGet("PRAGMA integrity_check").getString();
  std::printf("%d processes, %s, %.0f s: %d rows written, %d found, longest wait %.2f s, %s\n",
              kProcesses, mode.c_str(), job.duration.count(), written_rows, found_rows,
              longest_wait_s, integrity == "ok" ? "sound" : integrity.c_str());
  const bool wal = job.journaling == Database::Journaling::by_file_system;
  return good && written_rows >= kProcesses && integrity == "ok" &&
         mode == (wal ? "wal" : "delete");
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: many_writers SECONDS wal|delete\n");
    return 2;
  }
  bool good = false;
  try {
    const TempFolder folder;
    good = run({folder.path() / "tune.db",
                std::string(argv[2]) == "delete" ? Database::Journaling::rollback
                                                 : Database::Journaling::by_file_system,
                Seconds(std::atof(argv[1]))});
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
  }
  return good ? 0 : 1;
}
