// SPDX-License-Identifier: Apache-2.0
// Several problems under way at a time, with fake workers.
#include <gtest/gtest.h>

#include <atomic>
#include <fstream>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "core/error.h"
#include "tests/tuner/fakes/fake_tuning.h"
#include "tuner/process/scratch_dir.h"

namespace gemm_tune {
namespace {

class LanesTest : public testing::Test {
 protected:
  std::string file(const std::string& name) const { return (dir_.path() / name).string(); }

  Database made(const std::string& name) const {
    Database database(file(name), Database::Mode::create_or_open);
    database.begin_run({"test", "13.0", "", name, 1});
    return database;
  }

  TuneRequest request(const std::string& log) const {
    TuneRequest request = fake::request_of(fake::some_configs(24, /*with_faulty=*/true), file(log));
    request.problems.clear();
    for (int i = 1; i <= 3; ++i) request.problems.push_back(packed_problem(1024, 1024, 512 * i));
    return request;
  }

  // "MxNxK config disposition rank": what the database says of each candidate.
  static std::set<std::string> rows(const Database& database) {
    std::set<std::string> found;
    database.for_each_stored([&](const Record& row, bool) {
      found.insert(to_string(row.problem) + " " + row.config + " " +
                   std::string(to_string(row.outcome.disposition)) + " " +
                   (row.outcome.ranking ? std::to_string(row.outcome.ranking->rank) : "-"));
    });
    return found;
  }

  static std::string winner_of(const ProblemReport& problem) {
    return to_string(problem.problem) + " " + to_string(problem.winner.value().config.config());
  }

  ScratchDir dir_{"gemm-tune-test"};
};

// By a clock that is an hour on whenever it is asked, so that every rest is over at once.
TEST_F(LanesTest, AShareOfTheGpusTimeChangesNoRow) {
  Database whole = made("whole.db"), shared = made("shared.db");
  tune(request("whole.log"), whole, [](const Progress&) {});
  TuneRequest with_share = request("shared.log");
  std::atomic<int> asked = 0;
  with_share.gpu_share = {
      0.1, [&] { return RunningClock::time_point(std::chrono::hours(asked.fetch_add(1))); }};
  EXPECT_FALSE(tune(with_share, shared, [](const Progress&) {}).unfinished);
  EXPECT_EQ(rows(shared), rows(whole));
  EXPECT_GT(asked, 24);
}

TEST_F(LanesTest, SeveralProblemsAtATimeStoreTheRowsAndWinnersOfOneAtATime) {
  Database one = made("one.db"), two = made("two.db");
  std::vector<std::string> in_turn, at_once;
  for (const Problem& problem : request("one.log").problems) {
    TuneRequest alone = request("one.log");
    alone.problems = {problem};
    in_turn.push_back(winner_of(tune(alone, one, [](const Progress&) {}).problems.at(0)));
  }
  const auto thread = std::this_thread::get_id();
  const TuneReport report = tune(
      request("two.log"), two,
      [&](const Progress&) { EXPECT_EQ(std::this_thread::get_id(), thread); },
      [&](const ProblemReport& problem) {
        EXPECT_EQ(std::this_thread::get_id(), thread);
        at_once.push_back(winner_of(problem));
      });
  EXPECT_EQ(at_once, in_turn) << "in the request's order, whichever ends first";
  EXPECT_EQ(report.problems.size(), 3u);
  EXPECT_FALSE(report.interrupted || report.unfinished);
  EXPECT_EQ(rows(two), rows(one));
  EXPECT_GT(rows(one).size(), 3 * 18u);
}

TEST_F(LanesTest, AJobStartsItsWorkersOnceForAllProblems) {
  TuneRequest sound = request("log");
  sound.only = fake::some_configs(24, /*with_faulty=*/false);
  Database database = made("db");
  EXPECT_EQ(tune(sound, database, [](const Progress&) {}).problems.size(), 3u);
  std::ifstream log(file("log"));
  std::set<std::string> workers;
  for (std::string line; std::getline(log, line);) {
    if (line.starts_with("pid ")) workers.insert(line);
  }
  EXPECT_LE(workers.size(), sound.jobs + 2)
      << "the compilers, and a measuring worker and its spare";
}

TEST_F(LanesTest, AnExceptionOfWhoIsToldOfAProblemEndsTheRunAndIsThrown) {
  Database database = made("db");
  const auto fail = [](const ProblemReport&) { throw UsageError("the reader has gone"); };
  EXPECT_THROW(tune(
                   request("log"), database, [](const Progress&) {}, fail),
               UsageError);
}

// Workers that fail at their first task, or that never answer.
class DeadPools : public TaskPools {
 public:
  explicit DeadPools(bool refuses) : pool_(refuses) {}

  TaskPool& compilers() override { return pool_; }
  TaskPool& measurers() override { return pool_; }
  void wait(std::chrono::milliseconds, int) override { std::this_thread::yield(); }

 private:
  class Pool : public TaskPool {
   public:
    explicit Pool(bool refuses) : refuses_(refuses) {}
    void submit(Task) override {
      if (refuses_) throw DeviceError("no such worker");
      ++pending_;
    }
    std::size_t pending() const override { return pending_; }
    std::size_t size() const override { return 1; }
    WorkersLoad load() const override { return {0, 1, 0}; }
    void abandon() override { pending_ = 0; }
    void abandon(std::uint64_t) override { --pending_; }

   private:
    const bool refuses_;
    std::size_t pending_ = 0;
  };

  Pool pool_;
};

// Workers that never answer; notes their tasks.
class NotingPools : public TaskPools {
 public:
  TaskPool& compilers() override { return pool_; }
  TaskPool& measurers() override { return pool_; }
  void wait(std::chrono::milliseconds, int) override { std::this_thread::yield(); }

  // Verb, and the config where there is one.
  const std::vector<std::string>& tasks() const { return pool_.tasks; }

 private:
  struct Pool : TaskPool {
    void submit(Task task) override {
      tasks.push_back(task.verb + " " + task.request.value("config", ""));
    }
    std::size_t pending() const override { return tasks.size(); }
    std::size_t size() const override { return 2; }
    WorkersLoad load() const override { return {0, 2, 0}; }
    void abandon() override {}
    void abandon(std::uint64_t) override {}

    std::vector<std::string> tasks;
  };

  Pool pool_;
};

// The winners of another card lie in a layer below an empty database.
TEST_F(LanesTest, WhatWonElsewhereIsCompiledBeforeTheSpaceIsEnumerated) {
  TuneRequest sound = request("log");
  sound.problems = {packed_problem(1024, 1024, 1024)};
  sound.only = fake::some_configs(24, /*with_faulty=*/false);
  sound.device.name = "another card of the architecture";
  {
    Database layer = made("layer.db");
    tune(sound, layer, [](const Progress&) {});
  }
  TuneRequest here = request("other.log");
  here.problems = {packed_problem(1024, 1024, 1152)};
  here.only.clear();
  here.libraries = {{"cublas", "13.1.0"}};
  here.layers = {file("layer.db"), file("none.db")};
  here.budget = 40;
  std::atomic<bool> is_planned = false;
  here.interruption = Interruption(is_planned);
  Database database = made("db");
  NotingPools pools;
  const std::vector<TaskPools*> lanes = {&pools};
  std::vector<std::string> before;
  const auto on_progress = [&](const Progress&) {
    if (!is_planned.exchange(true)) before = pools.tasks();
  };
  EXPECT_TRUE(tune(here, database, lanes, on_progress, nullptr).interrupted);
  ASSERT_EQ(before.size(), 13u);
  EXPECT_EQ(before[0], "propose ");
  std::set<std::string> known;
  for (const KnownConfig& config : sound.only) known.insert(to_string(config.config()));
  for (std::size_t i = 1; i < before.size(); ++i) {
    ASSERT_TRUE(before[i].starts_with("compile ")) << before[i];
    EXPECT_TRUE(known.contains(before[i].substr(8))) << before[i];
  }
  EXPECT_TRUE(rows(database).empty()) << "nothing was timed here";
}

TEST_F(LanesTest, ALaneThatFailsEndsTheOthersAndItsExceptionIsThrown) {
  Database database = made("db");
  DeadPools silent(false), refusing(true);
  const std::vector<TaskPools*> lanes = {&silent, &refusing};
  EXPECT_THROW(tune(
                   request("log"), database, lanes, [](const Progress&) {}, nullptr),
               DeviceError);
  EXPECT_TRUE(rows(database).empty()) << "the other lane went on to the end";
}

}  // namespace
}  // namespace gemm_tune
