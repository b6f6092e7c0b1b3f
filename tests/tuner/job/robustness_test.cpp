// SPDX-License-Identifier: Apache-2.0
// Runs with candidates that crash, hang or fail, and runs that are killed. Fake workers, so no GPU
// is needed; tests/faults has the same faults as kernels on a GPU.
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <map>
#include <random>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "core/error.h"
#include "tests/await.h"
#include "tests/matchers.h"
#include "tests/rounds.h"
#include "tests/temp_folder.h"
#include "tests/tuner/fakes/fake_runs.h"
#include "tests/tuner/fakes/fake_tuning.h"

extern char** environ;

namespace gemm_tune {
namespace {

using namespace std::chrono_literals;
namespace fs = std::filesystem;

// The processes of the group but for its leader, and their states. A zombie waits for its reaper.
std::map<pid_t, char> alive_in_group_of(pid_t leader) {
  std::map<pid_t, char> found;
  for (const auto& entry : fs::directory_iterator("/proc")) {
    const std::string name = entry.path().filename().string();
    if (name.find_first_not_of("0123456789") != name.npos) continue;
    std::ifstream in(entry.path() / "stat");
    std::string stat;
    std::getline(in, stat);
    const std::size_t name_end = stat.rfind(')');
    if (name_end == std::string::npos) continue;
    std::istringstream rest(stat.substr(name_end + 1));
    char state = 'Z';
    pid_t parent = 0, group = 0;
    rest >> state >> parent >> group;
    const pid_t pid = std::stoi(name);
    if (state != 'Z' && group == leader && pid != leader) found.emplace(pid, state);
  }
  return found;
}

bool has_stopped(pid_t leader) {
  const auto alive = alive_in_group_of(leader);
  return std::any_of(alive.begin(), alive.end(), [](const auto& one) { return one.second == 'T'; });
}

class RobustnessTest : public FakeRunsTest {
 protected:
  // A file of so many configs that compile: for a start without enumerating whole spaces.
  std::string list_configs(std::size_t count) const {
    std::ofstream out(file("configs"));
    for (const KnownConfig& config : fake::some_configs(count, /*with_faulty=*/false)) {
      out << to_string(config.config()) << "\n";
    }
    return file("configs");
  }

  // How many rows another process has stored by now.
  static std::size_t stored(const std::string& db) {
    std::size_t count = 0;
    try {
      Database(db, Database::Mode::read_only).for_each_record([&](const Record&) { ++count; });
    } catch (const DatabaseError&) {  // not there yet
    }
    return count;
  }

  TuneRequest ended_by(const std::atomic<bool>& flag, std::size_t configs) const {
    TuneRequest request = fake::request_of(fake::some_configs(configs, false), file("a.log"));
    request.interruption = Interruption(flag);
    return request;
  }
  Database begun_database() const {
    Database database(file("a.db"), Database::Mode::create_or_open);
    database.begin_run({"test", "13.0", "", "with fakes", 1});
    return database;
  }

  // In a process group of its own, with its output in files.
  static pid_t spawn(std::vector<std::string> command, const std::string& output,
                     const std::string& errors = "/dev/null") {
    std::vector<char*> pointers;
    for (std::string& word : command) pointers.push_back(word.data());
    pointers.push_back(nullptr);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, output.c_str(),
                                     O_WRONLY | O_CREAT | O_TRUNC, 0600);
    posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, errors.c_str(),
                                     O_WRONLY | O_CREAT | O_TRUNC, 0600);
    posix_spawnattr_t attributes;
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
    pid_t pid = -1;
    EXPECT_EQ(posix_spawn(&pid, pointers[0], &actions, &attributes, pointers.data(), environ), 0);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    return pid;
  }

  // The state of the process in the end.
  static int end_of(pid_t pid) {
    int status = 0;
    EXPECT_EQ(waitpid(pid, &status, 0), pid);
    return status;
  }

  static bool is_success(int status) { return WIFEXITED(status) && WEXITSTATUS(status) == 0; }

  // The whole group.
  static int killed(pid_t pid) {
    kill(-pid, SIGKILL);
    return end_of(pid);
  }
};

TEST_F(RobustnessTest, EveryHealthyCandidateIsTimedAndEveryFaultyOneHasItsReason) {
  constexpr std::size_t kCount = 160;
  const auto everything = fake::some_configs(kCount, /*with_faulty=*/true);
  const TuneReport clean =
      fake::tune_with_fakes(fake::some_configs(kCount, false), file("clean.db"), file("clean.log"));
  const TuneReport mixed = fake::tune_with_fakes(everything, file("mixed.db"), file("mixed.log"));

  std::set<fake::Fault> met;
  const auto stored = rows(file("mixed.db"));
  for (const KnownConfig& known : everything) {
    const std::string config = to_string(known.config());
    const fake::Fault fault = fake::fault_of(config);
    met.insert(fault);
    const auto row = stored.find(config);
    EXPECT_EQ(row == stored.end() ? "" : row->second, word_of(fake::kDispositions, fault))
        << config;
  }
  EXPECT_EQ(met.size(), 11u) << "the list does not hold every fault";
  EXPECT_EQ(mixed.problems.at(0).winner.value().config.values,
            clean.problems.at(0).winner.value().config.values);
  RecordProperty("clean_seconds", std::to_string(clean.problems[0].seconds));
  RecordProperty("mixed_seconds", std::to_string(mixed.problems[0].seconds));
}

TEST_F(RobustnessTest, AWorkerThatIsKilledOnceCostsNoCandidateItsOutcome) {
  const auto configs = fake::some_configs(20, false);
  const TuneReport report =
      fake::tune_into(file("a.db"), fake::request_of(configs, file("a.log"), "killed_once"));
  const auto stored = rows(file("a.db"));
  EXPECT_EQ(stored.size(), configs.size());
  for (const auto& [config, disposition] : stored) EXPECT_EQ(disposition, "ok") << config;
  const Funnel& funnel = report.problems.at(0).funnel;
  EXPECT_GE(funnel.retried, configs.size());  // and specialisations
  EXPECT_EQ(funnel.survived, configs.size());
  EXPECT_TRUE(funnel.failed_by_environment.empty());
}

TEST_F(RobustnessTest, WhereThereIsNeverMemoryEachIsTriedTwiceInARunAndAgainInTheNext) {
  const auto configs = fake::some_configs(20, false);
  for (std::size_t run = 1; run <= 2; ++run) {
    const TuneReport report =
        fake::tune_into(file("a.db"), fake::request_of(configs, file("a.log"), "no_memory"));
    EXPECT_TRUE(rows(file("a.db")).empty());
    const Funnel& funnel = report.problems.at(0).funnel;
    EXPECT_EQ(funnel.tried, configs.size());
    EXPECT_EQ(funnel.retried, configs.size());
    EXPECT_EQ(total(funnel.failed_by_environment), configs.size());
    EXPECT_EQ(total(funnel.failed_on_gpu), 0u);
    std::map<std::string, std::size_t> compilations;
    for (const std::string& line : lines(file("a.log"))) {
      if (line.starts_with("compile ")) ++compilations[line.substr(8)];
    }
    EXPECT_EQ(compilations.size(), configs.size());
    for (const auto& [config, count] : compilations) EXPECT_EQ(count, 2 * run) << config;
  }
  fake::tune_with_fakes(configs, file("a.db"), file("a.log"));
  EXPECT_EQ(rows(file("a.db")).size(), configs.size());
}

TEST_F(RobustnessTest, ARunThatIsStoppedForLongerThanItsLimitsLosesNoCandidate) {
  const pid_t pid = spawn(
      {GT_TUNE_WITH_FAKES, file("a.db"), file("a.log"), list_configs(6), "stopped"}, file("out"));
  int status = 0, stops = 0;
  await([&] {
    if (has_stopped(pid)) {
      kill(-pid, SIGCONT);
      ++stops;
    }
    return waitpid(pid, &status, WNOHANG) == pid;
  });
  ASSERT_TRUE(is_success(status)) << status;
  EXPECT_GT(stops, 2);
  EXPECT_THAT(lines(file("out")), testing::ElementsAre(testing::EndsWith(", 0 tried again")));
  const auto stored = rows(file("a.db"));
  EXPECT_EQ(stored.size(), lines(file("configs")).size());
  for (const auto& [config, disposition] : stored) EXPECT_EQ(disposition, "ok") << config;
}

// As a program around the tuner would, which has no signals to give.
TEST_F(RobustnessTest, AFlagOfTheCallersEndsARunEarlyAndKeepsItsOutcomes) {
  std::atomic<bool> enough = false;
  const TuneRequest request = ended_by(enough, 60);
  Database database = begun_database();
  const TuneReport report = tune(request, database, [&](const Progress& progress) {
    if (progress.done >= 5) enough = true;
  });
  EXPECT_TRUE(report.interrupted);
  EXPECT_TRUE(report.unfinished);
  const std::size_t rows = database.records(device_key(request.device), fake::kProblem).size();
  EXPECT_GE(rows, 5u);
  EXPECT_LT(rows, 30u);
}

TEST_F(RobustnessTest, AnInterruptionWhenAllIsDoneLeavesNothingToGoOnWith) {
  std::atomic<bool> enough = false;
  const TuneRequest request = ended_by(enough, 5);
  Database database = begun_database();
  const TuneReport report = tune(
      request, database, [](const Progress&) {}, [&](const ProblemReport&) { enough = true; });
  EXPECT_TRUE(report.interrupted);
  EXPECT_FALSE(report.unfinished);
}

TEST_F(RobustnessTest, ALaterProblemIsSearchedThoughWhatWasCompiledAheadFillsTheQueue) {
  TuneRequest request = fake::request_of({}, file("log"));
  request.problems.push_back(packed_problem(1000, 1000, 1000));  // of other configs
  request.jobs = 1;
  request.budget = 12;
  const TuneReport report = fake::tune_into(file("a.db"), request);
  for (const ProblemReport& problem : report.problems) EXPECT_EQ(problem.funnel.tried, 12u);
}

TEST_F(RobustnessTest, ASignalToTheWholeGroupBlamesNoCandidate) {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    const std::string db = file("signal" + std::to_string(signal));
    const pid_t pid = spawn({GT_PROGRAM, "--arch", "sm_86", "--sizes", "1024", "--jobs", "2", "-q",
                             "--config", "@" + list_configs(500), "--db", db},
                            file("out"));
    await([&] { return stored(db) >= 3; });
    kill(-pid, signal);
    const int status = end_of(pid);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 130) << status;
    for (const auto& [config, disposition] : rows(db)) {
      EXPECT_TRUE(disposition == "ok" || disposition == "rejected") << config << disposition;
    }
  }
}

TEST_F(RobustnessTest, ASearchEndsWhereTheLastReaderOfItsOutputHasGone) {
  const std::string out = file("out"), db = file("a.db");
  ASSERT_EQ(mkfifo(out.c_str(), 0600), 0);
  const int reader = open(out.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  ASSERT_GE(reader, 0);
  const pid_t pid = spawn({GT_PROGRAM, "--arch", "sm_86", "--sizes", "1024", "--jobs", "2", "-q",
                           "--json", "--config", "@" + list_configs(500), "--db", db},
                          out, file("errors"));
  await([&] { return fs::exists(db); });
  close(reader);
  const int status = end_of(pid);
  EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGPIPE) << status;
  EXPECT_EQ(read_file(file("errors")), "");
  std::size_t count = 0;
  Database(db, Database::Mode::read_only).for_each_record([&](const Record&) { ++count; });
  EXPECT_LT(count, 500u);
}

// A line of /proc/PID/FILE that begins so.
std::string line_of_proc(pid_t pid, const std::string& file, const std::string& begin) {
  std::ifstream in("/proc/" + std::to_string(pid) + "/" + file);
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with(begin)) return line;
  }
  return "";
}

// Until the process waits in write() to its standard output: proc(5), "syscall".
void await_its_wait_for_a_reader(pid_t pid) {
  const std::string write_to_stdout = std::to_string(SYS_write) + " 0x1 ";
  await([&] { return !line_of_proc(pid, "syscall", write_to_stdout).empty(); });
}

// Until no signal waits for the process, which has handled those that were sent.
void await_handled_signals(pid_t pid) {
  await([&] {
    return line_of_proc(pid, "status", "ShdPnd:").find_last_not_of("ShdPn:\t0") ==
           std::string::npos;
  });
}

std::string read_what_is_there(int file) {
  std::string text(1 << 16, '\0');
  const ssize_t count = read(file, text.data(), text.size());
  text.resize(count > 0 ? static_cast<std::size_t>(count) : 0);
  return text;
}

TEST_F(RobustnessTest, ASignalWhileTheReportWaitsForItsReaderLosesNoneOfIt) {
  for (const bool quiet : {false, true}) {
    const std::string out = file(quiet ? "quiet" : "whole");
    ASSERT_EQ(mkfifo(out.c_str(), 0600), 0);
    const int reader = open(out.c_str(), O_RDWR | O_NONBLOCK | O_CLOEXEC);
    ASSERT_GE(reader, 0);
    while (write(reader, "x", 1) == 1) {
    }
    const pid_t pid = spawn(
        {GT_PROGRAM, "--arch", "sm_86", "--sizes", "64", "--config",
         "naive/BM=16,BN=16,COALESCED=1,PRED=0", "--db", out + ".db", quiet ? "-q" : "--json"},
        out);
    await_its_wait_for_a_reader(pid);
    kill(pid, SIGTERM);
    await_handled_signals(pid);
    std::string report;
    int status = 0;
    while (waitpid(pid, &status, WNOHANG) == 0) report += read_what_is_there(reader);
    for (std::string rest = "x"; !rest.empty(); report += rest) rest = read_what_is_there(reader);
    close(reader);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 130) << status;
    report.erase(0, report.find_first_not_of('x'));
    EXPECT_THAT(report, testing::StartsWith(quiet ? "64x64x64  naive/" : "{\n"));
    EXPECT_THAT(report, testing::EndsWith(quiet ? ")\n" : "\n}\n"));
    EXPECT_EQ(rows(out + ".db").size(), 1u);
  }
}

#ifndef __SANITIZE_THREAD__  // its runtime keeps a handler waiting until write() has returned
TEST_F(RobustnessTest, ASecondSignalEndsARunWhoseReaderNeverReads) {
  const std::string out = file("out");
  ASSERT_EQ(mkfifo(out.c_str(), 0600), 0);
  const int reader = open(out.c_str(), O_RDWR | O_NONBLOCK | O_CLOEXEC);
  ASSERT_GE(reader, 0);
  while (write(reader, "x", 1) == 1) {
  }
  const pid_t pid = spawn({GT_PROGRAM, "--arch", "sm_86", "--sizes", "64", "--config",
                           "naive/BM=16,BN=16,COALESCED=1,PRED=0", "--db", file("a.db"), "-q"},
                          out);
  await_its_wait_for_a_reader(pid);
  int status = 0;
  await([&] {  // those that come soon after the first count as the same request
    kill(pid, SIGINT);
    return waitpid(pid, &status, WNOHANG) == pid;
  });
  close(reader);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 130) << status;
  EXPECT_EQ(rows(file("a.db")).size(), 1u);
}

#endif

TEST_F(RobustnessTest, ARunThatIsKilledHasPrintedALineForEachProblemThatIsDone) {
  // Only the first config is legal for the first problem.
  const pid_t pid = spawn({GT_PROGRAM, "-q", "--arch", "sm_86", "--sizes", "33x35x37,1024",
                           "--config", "naive/BM=16,BN=16,COALESCED=1,PRED=1", "--config",
                           "@" + list_configs(500), "--db", file("q.db"), "--jobs", "2"},
                          file("out"));
  await([&] { return !lines(file("out")).empty(); });
  EXPECT_TRUE(WIFSIGNALED(killed(pid))) << "the other problem takes minutes";
  ASSERT_EQ(lines(file("out")).size(), 1u);
  EXPECT_THAT(lines(file("out"))[0], testing::StartsWith("33x35x37  naive/"));
}

TEST_F(RobustnessTest, ARunThatIsKilledAmidItsCubinsLeavesNothingInTheTemporaryFolder) {
  const int status = end_of(
      spawn({GT_TUNE_WITH_FAKES, file("a.db"), file("a.log"), list_configs(20), "killed_at=30"},
            file("out")));
  ASSERT_TRUE(WIFSIGNALED(status)) << status;
  EXPECT_FALSE(rows(file("a.db")).empty()) << "killed before it had compiled and measured";
  EXPECT_TRUE(fs::is_empty(file("tmp")));
}

TEST_F(RobustnessTest, NothingIsLostOrRepeatedWhenTheWholeGroupIsKilledAtAnyRequestOrProgress) {
  const std::string configs = list_configs(150);
  const int kills_wanted = rounds(10, 200);
  const pid_t clean =
      spawn({GT_TUNE_WITH_FAKES, file("clean.db"), file("clean.log"), configs}, file("clean"));
  ASSERT_TRUE(is_success(end_of(clean)));
  const std::size_t events = lines(file("clean.log")).size();

  std::mt19937_64 random(20261121);
  int kills = 0;
  for (int run = 0; kills < kills_wanted; ++run) {
    const std::string db = file("run" + std::to_string(run)), log = db + ".log";
    std::map<std::string, std::string> committed;
    bool ended = false;
    while (!ended) {
      fs::remove(log);
      const std::string event = std::to_string(1 + random() % events);
      const bool at_request = random() % 2 == 0;
      const int status =
          end_of(spawn({GT_TUNE_WITH_FAKES, db, log, configs,
                        at_request ? "killed_at=" + event : "", at_request ? "0" : event},
                       db + ".out"));
      ended = !WIFSIGNALED(status);
      kills += ended ? 0 : 1;
      ASSERT_TRUE(is_success(status) || WTERMSIG(status) == SIGKILL) << status;
      for (const std::string& line : lines(log)) {
        if (!line.starts_with("measure ")) continue;
        EXPECT_FALSE(committed.contains(line.substr(8))) << "again: " << line;
      }
      const auto now = rows(db);
      for (const auto& [config, disposition] : committed) {
        const auto row = now.find(config);
        ASSERT_NE(row, now.end()) << "lost: " << config;
        EXPECT_EQ(row->second, disposition);
      }
      committed = now;
    }
    EXPECT_EQ(lines(db + ".out"), lines(file("clean")));
  }
}

// Not the worker that looks for a GPU first, nor a sanitizer's process beside it.
std::size_t compilers_in_group_of(pid_t leader) {
  std::size_t count = 0;
  for (const auto& [pid, state] : alive_in_group_of(leader)) {
    std::ifstream arguments("/proc/" + std::to_string(pid) + "/cmdline");
    std::string command_line;
    std::getline(arguments, command_line);
    count += command_line.find(std::string("worker\0compile", 14)) != std::string::npos ? 1 : 0;
  }
  return count;
}

// Killed as soon as it is started, when its first child is there, with one compiler at work, with
// both, and when a row is stored.
TEST_F(RobustnessTest, AParentKilledAloneLeavesNoWorkerBehind) {
  const std::string configs = list_configs(500);
  for (int i = 0; i < 5; ++i) {
    const std::string db = file("p" + std::to_string(i) + ".db");
    const pid_t parent = spawn({GT_PROGRAM, "--arch", "sm_86", "--sizes", "1024", "--jobs", "2",
                                "-q", "--config", "@" + configs, "--db", db},
                               file("out"));
    if (i == 1) await([&] { return !alive_in_group_of(parent).empty(); });
    if (i == 2) await([&] { return compilers_in_group_of(parent) >= 1; });
    if (i == 3) await([&] { return compilers_in_group_of(parent) >= 2; });
    if (i == 4) await([&] { return stored(db) > 0; });
    kill(parent, SIGKILL);
    EXPECT_TRUE(WIFSIGNALED(end_of(parent)));
    await([&] { return alive_in_group_of(parent).empty(); });
    rows(db);
  }
}

}  // namespace
}  // namespace gemm_tune
