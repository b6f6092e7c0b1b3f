// SPDX-License-Identifier: Apache-2.0
// Several problems under way at a time, with fake workers.
#include <gtest/gtest.h>

#include <fstream>
#include <memory>
#include <set>

#include "core/error.h"
#include "tests/tuner/fakes/fake_tuning.h"
#include "tuner/job/local_workers.h"
#include "tuner/process/scratch_dir.h"

namespace gemm_tune {
namespace {

class LanesTest : public testing::Test {
 protected:
  std::string file(const std::string& name) const { return (dir_.path() / name).string(); }

  TuneRequest request(const std::string& log) const {
    TuneRequest request = fake::request_of(fake::some_configs(24, /*with_faulty=*/true), file(log));
    request.problems.clear();
    for (int i = 1; i <= 3; ++i) request.problems.push_back(packed_problem(1024, 1024, 512 * i));
    request.jobs = 1;
    return request;
  }

  static TuneReport tune_in_lanes(const TuneRequest& request, Database& database, std::size_t count,
                                  const OnFinished& on_finished = nullptr) {
    std::vector<std::unique_ptr<LocalWorkers>> workers;
    std::vector<TaskPools*> lanes;
    for (std::size_t i = 0; i < count; ++i) {
      lanes.push_back(workers.emplace_back(std::make_unique<LocalWorkers>(request)).get());
    }
    return tune(
        request, database, lanes, [](const Progress&) {}, on_finished);
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

  ScratchDir dir_{"gemm-tune-test"};
};

TEST_F(LanesTest, SeveralProblemsAtATimeStoreTheRowsAndWinnersOfOneAtATime) {
  Database one(file("one.db"), Database::Mode::create_or_open);
  one.begin_run({"test", "13.0", "", "one at a time", 1});
  const TuneReport in_turn = tune(request("one.log"), one, [](const Progress&) {});
  Database two(file("two.db"), Database::Mode::create_or_open);
  two.begin_run({"test", "13.0", "", "two at a time", 1});
  std::size_t finished = 0;
  const TuneReport at_once =
      tune_in_lanes(request("two.log"), two, 2, [&](const ProblemReport&) { ++finished; });

  EXPECT_EQ(finished, 3u);
  ASSERT_EQ(at_once.problems.size(), in_turn.problems.size());
  for (std::size_t i = 0; i < in_turn.problems.size(); ++i) {
    EXPECT_EQ(at_once.problems[i].problem, in_turn.problems[i].problem);
    EXPECT_EQ(to_string(at_once.problems[i].winner.value().config.config()),
              to_string(in_turn.problems[i].winner.value().config.config()));
  }
  EXPECT_FALSE(at_once.interrupted || at_once.unfinished);
  EXPECT_EQ(rows(two), rows(one));
  EXPECT_GT(rows(one).size(), 3 * 18u);
}

TEST_F(LanesTest, ALaneThatFailsEndsTheOthersAndItsExceptionIsThrown) {
  Database database(file("db"), Database::Mode::create_or_open);
  database.begin_run({"test", "13.0", "", "fails", 1});
  TuneRequest busy = request("log"), lost = busy;
  busy.only = fake::some_configs(400, /*with_faulty=*/true);
  std::erase_if(busy.only, [](const KnownConfig& config) {
    return fake::fault_of(to_string(config.config())) != fake::Fault::endless_compile;
  });
  ASSERT_FALSE(busy.only.empty());
  busy.compile_limit = std::chrono::hours(10);
  busy.worker_clock = nullptr;
  lost.worker = {"/nowhere/worker"};
  LocalWorkers workers(busy), none(lost);
  const std::vector<TaskPools*> lanes = {&workers, &none};
  EXPECT_THROW(tune(
                   busy, database, lanes, [](const Progress&) {}, nullptr),
               DeviceError);
  EXPECT_TRUE(rows(database).empty()) << "the other lane went on to the end";
}

}  // namespace
}  // namespace gemm_tune
