// SPDX-License-Identifier: Apache-2.0
// Runs with candidates that crash, hang or fail, and runs that are killed. Fake workers, so no GPU
// is needed; tests/faults has the same faults as kernels on a GPU.
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <random>
#include <set>
#include <sstream>
#include <thread>

#include "core/error.h"
#include "runtime/compile.h"
#include "runtime/kernel_store.h"
#include "search/model/static_model.h"
#include "tests/await.h"
#include "tests/matchers.h"
#include "tests/rounds.h"
#include "tests/tuner/fakes/fake_tuning.h"
#include "tuner/plan/budget.h"
#include "tuner/process/scratch_dir.h"
#include "tuner/report/report.h"

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

class RobustnessTest : public testing::Test {
 protected:
  // The default kernel cache and the temporary folder of the programs that are spawned.
  RobustnessTest() {
    EXPECT_EQ(setenv("XDG_CACHE_HOME", dir_.path().c_str(), 1), 0);
    fs::create_directory(file("tmp"));
    EXPECT_EQ(setenv("TMPDIR", file("tmp").c_str(), 1), 0);
  }
  ~RobustnessTest() override { EXPECT_EQ(unsetenv("TMPDIR"), 0); }

  std::string file(const std::string& name) const { return (dir_.path() / name).string(); }

  // A file of so many configs that compile: for a start without enumerating whole spaces.
  std::string list_configs(std::size_t count) const {
    std::ofstream out(file("configs"));
    for (const KnownConfig& config : fake::some_configs(count, /*with_faulty=*/false)) {
      out << to_string(config.config()) << "\n";
    }
    return file("configs");
  }

  // Config -> disposition of all rows; checks the file's integrity on the way.
  static std::map<std::string, std::string> rows(const std::string& path) {
    std::map<std::string, std::string> found;
    if (!fs::exists(path)) return found;  // killed before it was made
    sqlite3* db = nullptr;
    EXPECT_EQ(sqlite3_open_v2(path.c_str(), &db, SQLITE_OPEN_READWRITE, nullptr), SQLITE_OK);
    const auto each = [](void* out, int, char** values, char**) {
      static_cast<std::map<std::string, std::string>*>(out)->emplace(values[0], values[1]);
      return 0;
    };
    std::map<std::string, std::string> integrity;
    sqlite3_exec(db, "SELECT integrity_check, '' FROM pragma_integrity_check", each, &integrity,
                 nullptr);
    EXPECT_EQ(integrity.count("ok"), 1u) << path;
    // A kill may come before the schema is there.
    sqlite3_exec(db, "SELECT config, disposition FROM outcomes", each, &found, nullptr);
    sqlite3_close(db);
    return found;
  }

  static std::vector<std::string> lines(const std::string& path) {
    std::ifstream in(path);
    std::vector<std::string> found;
    for (std::string line; std::getline(in, line);) found.push_back(line);
    return found;
  }

  // The first configs that a GPU was asked to measure.
  static std::vector<std::string> tried(const std::string& log, std::size_t count) {
    std::vector<std::string> found;
    for (const std::string& line : lines(log)) {
      if (found.size() < count && line.starts_with("measure ")) found.push_back(line.substr(8));
    }
    return found;
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

  // In a process group of its own, with its output in a file.
  static pid_t spawn(std::vector<std::string> command, const std::string& output) {
    std::vector<char*> pointers;
    for (std::string& word : command) pointers.push_back(word.data());
    pointers.push_back(nullptr);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, output.c_str(),
                                     O_WRONLY | O_CREAT | O_TRUNC, 0600);
    posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
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

  ScratchDir dir_{"gemm-tune-test"};
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
  EXPECT_GE(funnel.retried, configs.size());  // and twins
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

TEST_F(RobustnessTest, OnRequestWhatFailedInEarlierRunsIsTriedAgainFirst) {
  auto configs = fake::some_configs(60, true);
  std::erase_if(configs, [](const KnownConfig& config) {
    return fake::fault_of(to_string(config.config())) == fake::Fault::killed;
  });
  fake::tune_with_fakes(configs, file("a.db"), file("a.log"));
  std::set<std::string> failed;
  for (const auto& [config, disposition] : rows(file("a.db"))) {
    if (disposition != "ok" && disposition != "rejected") failed.insert(config);
  }
  ASSERT_GE(failed.size(), 5u);
  TuneRequest request = fake::request_of({}, file("b.log"));
  request.jobs = 1;
  request.budget = configs.size();  // no more than the earlier run tried
  request.retry_failed = true;
  const TuneReport report = fake::tune_into(file("a.db"), request);
  std::set<std::string> compiled;
  for (const std::string& line : lines(file("b.log"))) {
    if (line.starts_with("compile ") && compiled.size() < failed.size()) {
      compiled.insert(line.substr(8));
    }
  }
  EXPECT_EQ(compiled, failed);
  EXPECT_EQ(report.problems.at(0).funnel.recalled, configs.size() - failed.size());
  EXPECT_EQ(report.problems.at(0).funnel.tried, configs.size());
  EXPECT_EQ(rows(file("a.db")).size(), configs.size());
}

TEST_F(RobustnessTest, TheSameCommandAgainTriesNothingAndFindsTheSame) {
  auto configs = fake::some_configs(40, true);
  std::erase_if(configs, [](const KnownConfig& config) {
    return fake::fault_of(to_string(config.config())) == fake::Fault::killed;
  });
  const TuneReport first = fake::tune_with_fakes(configs, file("a.db"), file("a.log"));
  const auto noted = lines(file("a.log")).size();
  const TuneReport second = fake::tune_with_fakes(configs, file("a.db"), file("a.log"));
  EXPECT_EQ(lines(file("a.log")).size(), noted) << "a worker was started for nothing";
  EXPECT_EQ(second.problems[0].funnel.recalled, configs.size());
  EXPECT_EQ(second.problems[0].winner->config.values, first.problems[0].winner->config.values);
  EXPECT_EQ(second.problems[0].winner->baselines.size(), 1u);
  EXPECT_EQ(second.problems[0].winner->baselines, first.problems[0].winner->baselines);
}

TEST_F(RobustnessTest, AListGoesInItsOrder) {
  const auto configs = fake::some_configs(60, false);
  TuneRequest request = fake::request_of({configs.rbegin(), configs.rend()}, file("log"));
  request.jobs = 1;
  fake::tune_into(file("a.db"), request);
  std::vector<std::string> expected;
  for (const KnownConfig& config : request.only) expected.push_back(to_string(config.config()));
  EXPECT_EQ(tried(file("log"), expected.size()), expected);
}

TEST_F(RobustnessTest, AllOfASpaceGoesInListOrder) {
  TuneRequest request = fake::request_of({}, file("log"));
  request.jobs = 1;
  request.most_points = 12;
  request.budget = std::numeric_limits<std::size_t>::max();
  const TuneReport report = fake::tune_into(file("a.db"), request);
  EXPECT_EQ(report.problems[0].funnel.tried, 12u);
  const std::vector<std::string> began = tried(file("log"), 1000);
  std::size_t next = 0;
  for (const KnownConfig& point : candidates_for(request, fake::kProblem).points) {
    const std::string text = to_string(point.config());
    if (fake::fault_of(text) != fake::Fault::none) continue;
    while (next < began.size() && began[next] != text) ++next;
    EXPECT_LT(next, began.size()) << text;
  }
}

TEST_F(RobustnessTest, WhatEarlierRunsTriedBelongsToTheSampleOfALargeSpace) {
  TuneRequest request = fake::request_of({}, file("log"));
  request.most_points = 30;
  request.budget = 10;
  const TuneReport first = fake::tune_into(file("a.db"), request);
  EXPECT_EQ(first.problems[0].funnel.searched, 30u);
  EXPECT_GT(first.problems[0].funnel.left, 1000u);
  const std::size_t stored = rows(file("a.db")).size();  // a failure of the environment is not
  EXPECT_GT(stored, 7u);
  request.seed = 2;  // another sample
  request.budget = 15;
  const TuneReport second = fake::tune_into(file("a.db"), request);
  EXPECT_EQ(second.problems[0].funnel.recalled, stored);
  EXPECT_EQ(second.problems[0].funnel.tried, 15u);
  EXPECT_GT(second.problems[0].funnel.searched, 30 + stored / 2);
  EXPECT_LE(second.problems[0].funnel.searched, 30 + stored);
}

TEST_F(RobustnessTest, ASearchBeginsWithTheStaticModelsFavouriteUnlessToldOtherwise) {
  TuneRequest request = fake::request_of({}, file("log"));
  request.budget = 1;
  const auto predicted_us = [&](const KnownConfig& config) {
    return predict(config.traits, fake::kProblem, request.device).time_us;
  };
  double least_us = std::numeric_limits<double>::infinity();
  for (const KnownConfig& point : candidates_for(request, fake::kProblem).points) {
    least_us = std::min(least_us, predicted_us(point));
  }
  const auto only_try = [&](const std::string& db) {
    fake::tune_into(file(db), request);
    const auto stored = rows(file(db));
    EXPECT_EQ(stored.size(), 1u);
    return check_config(parse_config(stored.begin()->first));
  };
  EXPECT_EQ(predicted_us(only_try("model.db")), least_us);
  request.strategy = "random";
  EXPECT_GT(predicted_us(only_try("random.db")), 1.1 * least_us);
}

TEST_F(RobustnessTest, ASearchIsGuidedByWhatWasTimedElsewhereAndSaysSo) {
  TuneRequest request = fake::request_of({}, file("log"));
  request.most_points = 1000;
  request.budget = 120;
  const ProblemReport first = fake::tune_into(file("a.db"), request).problems.at(0);
  ASSERT_TRUE(first.prior.has_value());
  EXPECT_TRUE(first.prior->empty());
  EXPECT_EQ(first.budget, 120u);

  request.problems = {packed_problem(2048, 1024, 1024)};
  request.budget.reset();
  const ProblemReport second = fake::tune_into(file("a.db"), request).problems.at(0);
  ASSERT_TRUE(second.prior.has_value());
  ASSERT_EQ(second.prior->size(), 1u);
  EXPECT_EQ(second.prior->at(0).problem, fake::kProblem);
  EXPECT_EQ(second.prior->at(0).device, std::nullopt);
  EXPECT_GE(second.prior->at(0).count, 64u);
  EXPECT_LE(second.prior->at(0).count, first.funnel.survived);
  EXPECT_EQ(second.budget, default_budget(/*measured=*/true));

  request.strategy = "random";
  EXPECT_EQ(fake::tune_into(file("a.db"), request).problems.at(0).prior, std::nullopt);
}

TEST_F(RobustnessTest, ASearchWithoutABudgetEndsItselfAndGoesOnWhereABudgetIsNamed) {
  TuneRequest request = fake::request_of({}, file("log"));
  request.families = {find_family("tiled_2d")};
  // The fake times have nothing to do with the model's.
  const ProblemReport all = fake::tune_into(file("a.db"), request).problems.at(0);
  EXPECT_FALSE(all.settled);
  EXPECT_EQ(all.funnel.tried, all.funnel.left);
  EXPECT_GT(all.funnel.left, 100u);

  request.problems = {packed_problem(1024, 1024, 1152)};  // the same times
  const ProblemReport near = fake::tune_into(file("a.db"), request).problems.at(0);
  EXPECT_TRUE(near.settled);
  EXPECT_EQ(near.cut_short, CutShort::no);
  EXPECT_EQ(near.funnel.unfinished, 0u);
  EXPECT_LT(near.funnel.tried, 50u);
  ASSERT_TRUE(near.winner.has_value());
  EXPECT_EQ(near.winner->config.values, all.winner->config.values);

  request.budget = near.funnel.tried + 5;
  const ProblemReport more = fake::tune_into(file("a.db"), request).problems.at(0);
  EXPECT_FALSE(more.settled);
  EXPECT_EQ(more.funnel.tried, near.funnel.tried + 5);
}

TEST_F(RobustnessTest, ATargetEndsASearchWhoseRestIsNotWorthItsWhile) {
  TuneRequest request = fake::request_of({}, file("log"));
  request.most_points = request.budget.emplace(300);
  request.target = 0.5;  // the times lie between 100 and 200 us
  const ProblemReport report = fake::tune_into(file("a.db"), request).problems.at(0);
  EXPECT_TRUE(report.target_met);
  EXPECT_EQ(report.cut_short, CutShort::no);
  EXPECT_TRUE(report.winner.has_value());
  EXPECT_LT(report.funnel.tried, 150u);
  EXPECT_EQ(report.funnel.unfinished, 0u);
  ASSERT_TRUE(report.expected_gain.has_value());
  EXPECT_EQ(report.expected_gain->tries, 300 - report.funnel.tried);
  EXPECT_LT(report.expected_gain->gain, 0.5);
}

TEST_F(RobustnessTest, EachCandidateRacesAgainstTheBestThatIsKnownWhenItsTurnComes) {
  fake::tune_with_fakes(fake::some_configs(40, false), file("a.db"), file("a.log"));
  double best_us = std::numeric_limits<double>::infinity(), told_us = best_us;
  std::size_t measured = 0, told = 0;
  std::string before;
  for (const std::string& line : lines(file("a.log"))) {
    if (line.starts_with("measure ")) {
      // The one before may still be on its way back.
      if (!before.empty()) best_us = std::min(best_us, fake::time_us_of(before));
      before = line.substr(8);
      if (++measured == 30) break;  // the winner's twins are not timed
    } else if (line.starts_with("best ")) {
      ++told;
      EXPECT_LE(std::stod(line.substr(5)), told_us);
      told_us = std::stod(line.substr(5));
      EXPECT_GE(told_us, best_us - 1e-3);
    }
  }
  EXPECT_EQ(measured, 30u);
  EXPECT_GE(told, 27u);
  EXPECT_LT(told_us, 120);
}

TEST_F(RobustnessTest, FinalsVerifyEveryConfigThatTheWinnerIsServedAs) {
  const KnownConfig config = check_config(
      parse_config("vectorized_2d/BM=128,BN=64,BK=16,TM=8,TN=4,VEC=4,PAD=4,INTERLEAVE=1,PRED=0"));
  ASSERT_TRUE(fake::twins_compile(config));
  const TuneReport report = fake::tune_with_fakes({config}, file("a.db"), file("a.log"));
  EXPECT_TRUE(report.problems.at(0).twins_verified);
  std::vector<std::string> served;
  for (const KnownConfig& variant : served_variants(config)) {
    served.push_back(to_string(variant.config()));
  }
  ASSERT_EQ(served.size(), 4u);
  EXPECT_EQ(tried(file("a.log"), 100), served);
}

// As a program around the tuner would, which has no signals to give.
TEST_F(RobustnessTest, AFlagOfTheCallersEndsARunEarlyAndKeepsItsOutcomes) {
  std::atomic<bool> enough = false;
  TuneRequest request = fake::request_of(fake::some_configs(60, false), file("a.log"));
  request.interruption = Interruption(enough);
  Database database(file("a.db"), Database::Mode::create_or_open);
  database.begin_run({"test", "13.0", "", "with fakes", 1});
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
  TuneRequest request = fake::request_of(fake::some_configs(5, false), file("a.log"));
  request.interruption = Interruption(enough);
  Database database(file("a.db"), Database::Mode::create_or_open);
  database.begin_run({"test", "13.0", "", "with fakes", 1});
  const TuneReport report = tune(
      request, database, [](const Progress&) {}, [&](const ProblemReport&) { enough = true; });
  EXPECT_TRUE(report.interrupted);
  EXPECT_FALSE(report.unfinished);
}

TEST_F(RobustnessTest, AProblemForWhichNoTimeIsLeftSaysSo) {
  TuneRequest request = fake::request_of(fake::some_configs(5, false), file("a.log"));
  request.problems.push_back(packed_problem(2048, 2048, 2048));
  request.time_limit = 0s;
  const TuneReport report = fake::tune_into(file("a.db"), request);
  EXPECT_TRUE(report.out_of_time);
  EXPECT_FALSE(report.unfinished);
  ASSERT_EQ(report.problems.size(), 2u);
  for (const ProblemReport& problem : report.problems) {
    EXPECT_THAT(why_no_winner(problem), HasSubstr("time ran out"));
    EXPECT_EQ(problem.funnel.enumerated, 0u);  // planning takes time, too
  }
}

// The finals have compiled and verified what the winner is served as; a run without finals, which
// predicts, compiles the rest for a cache that it is to complete.
TEST_F(RobustnessTest, TheWinnersKernelsArePutIntoTheKernelCacheAsItIsServed) {
  for (const bool measured : {true, false}) {
    const std::string name = measured ? "measured" : "predicted";
    TuneRequest request = fake::request_of(fake::some_configs(20, false), file(name + ".log"));
    request.measure = measured;
    request.kernel_cache = file(name);
    request.completes_kernel_cache = !measured;
    Database database(file(name + ".db"), Database::Mode::create_or_open);
    database.begin_run({"test", "13.0", "", "with fakes", 1});
    const TuneReport report = tune(request, database, [](const Progress&) {});
    const std::vector<KnownConfig> served =
        served_variants(report.problems.at(0).winner.value().config);
    EXPECT_GT(served.size(), 1u);
    for (const KnownConfig& variant : served) {
      const std::string config = to_string(variant.config());
      const auto kept = load_kernel(KernelStore(file(name)), fake::cubin_key_of(config, "none"));
      ASSERT_TRUE(kept) << config << ", " << name;
      EXPECT_EQ(kept->bytes, fake::cubin_of(config, "none")) << config;
    }
  }
}

TEST_F(RobustnessTest, ABaselineThatCublasRefusesIsAbsentWithAReason) {
  const auto report_of = [&](const std::string& name, const std::string& mode) {
    TuneRequest request =
        fake::request_of(fake::some_configs(20, false), file(name + ".log"), mode);
    request.baselines = {BaselineKind::cublas, BaselineKind::cublas_autotuned};
    Database database(file(name + ".db"), Database::Mode::create_or_open);
    database.begin_run({"test", "13.0", "", name, 1});
    return tune(request, database, [](const Progress&) {}).problems.at(0);
  };
  const ProblemReport with = report_of("with", "");
  ASSERT_EQ(with.winner->baselines.size(), 2u);
  EXPECT_EQ(with.winner->baselines[1].title(), "cublasGemmEx-autotuned 0.0");
  EXPECT_TRUE(with.absent_baselines.empty());
  const ProblemReport without = report_of("without", "no_autotune");
  ASSERT_EQ(without.winner->baselines.size(), 1u);
  EXPECT_EQ(without.winner->baselines[0].title(), "cublasSgemm 0.0");
  EXPECT_EQ(without.absent_baselines,
            std::vector<std::string>{"cublasGemmEx-autotuned 0.0: as the fake has it"});
  EXPECT_EQ(without.winner->config.values, with.winner->config.values);
}

TEST_F(RobustnessTest, FinalsAreHeldAgainBesideABaselineThatTheyLacked) {
  const auto configs = fake::some_configs(20, false);
  Database database(file("a.db"), Database::Mode::create_or_open);
  const auto tune_again = [&](const std::string& command, const auto& change) {
    database.begin_run({"test", "13.0", "", command, 1});
    TuneRequest request = fake::request_of(configs, file("a.log"));
    change(request);
    return tune(request, database, [](const Progress&) {}).problems.at(0).winner.value();
  };
  const auto run_of = [&](const TuneWinner& winner) {
    for (const Record& row :
         database.records(device_key(find_device_spec("sm_90").value()), fake::kProblem)) {
      if (row.config == to_string(winner.config.config())) return row.run.command;
    }
    return std::string("none");
  };
  const auto nothing = [](TuneRequest&) {};
  const auto both = [](TuneRequest& request) {
    request.baselines = {BaselineKind::cublas, BaselineKind::cublas_lt};
  };
  const TuneWinner first = tune_again("first", nothing);
  EXPECT_EQ(first.baselines.size(), 1u);
  const TuneWinner second = tune_again("second", both);
  ASSERT_EQ(second.baselines.size(), 2u);
  EXPECT_EQ(to_string(second.baselines[1]), "cublasLt 0.0 (best of 7 heuristics)");
  EXPECT_EQ(run_of(second), "second");
  // Both are known now, and one of them is enough.
  EXPECT_EQ(tune_again("third", both).baselines, second.baselines);
  EXPECT_EQ(run_of(tune_again("fourth", nothing)), "second");
  const TuneWinner asked = tune_again("fifth", [](TuneRequest& r) { r.finals_again = true; });
  EXPECT_EQ(run_of(asked), "fifth");
  EXPECT_EQ(asked.config.values, first.config.values);
}

TEST_F(RobustnessTest, MoreConfigsAndSizesRetryNothingThatIsStored) {
  fake::tune_with_fakes(fake::some_configs(20, true), file("a.db"), file("a.log"));
  const auto before = rows(file("a.db"));
  fs::remove(file("a.log"));
  fake::tune_with_fakes(fake::some_configs(40, true), file("a.db"), file("a.log"));
  EXPECT_GT(rows(file("a.db")).size(), before.size());
  for (const std::string& line : lines(file("a.log"))) {
    if (!line.starts_with("measure ")) continue;
    EXPECT_FALSE(before.contains(line.substr(8))) << line;
  }
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
                          out);
  await([&] { return fs::exists(db); });
  close(reader);
  const int status = end_of(pid);
  EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGPIPE) << status;
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
