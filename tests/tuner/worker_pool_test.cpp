#include "tuner/worker_pool.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <set>

#include "core/error.h"

namespace gemm_tune {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

class WorkerPoolTest : public testing::Test {
 protected:
  static WorkerPool fakes(std::size_t count) {
    return WorkerPool(count, {std::getenv("GT_FAKE_WORKER")});
  }

  // Runs the tasks, in order of submission, and returns their results in that order.
  static std::vector<TaskResult> run_all(WorkerPool& pool, const std::vector<std::string>& verbs,
                                         std::chrono::milliseconds limit) {
    std::vector<TaskResult> results(verbs.size());
    for (std::size_t i = 0; i < verbs.size(); ++i) {
      pool.submit({verbs[i], i, limit, [&results, i](TaskResult r) { results[i] = std::move(r); }});
    }
    while (pool.pending() > 0) WorkerPool::wait({&pool}, 1000ms);
    return results;
  }
};

TEST_F(WorkerPoolTest, AnswersEveryTaskWithItsOwnReply) {
  WorkerPool pool = fakes(3);
  const auto results = run_all(pool, std::vector<std::string>(20, "echo"), 10s);
  std::set<int> pids;
  for (std::size_t i = 0; i < results.size(); ++i) {
    ASSERT_EQ(results[i].status, TaskResult::Status::reply);
    EXPECT_EQ(results[i].reply.at("echo"), i);
    pids.insert(results[i].reply.at("pid").get<int>());
  }
  EXPECT_EQ(pids.size(), 3u);
}

TEST_F(WorkerPoolTest, ACrashIsTheTasksOwnAndTheNextTaskGetsAFreshWorker) {
  WorkerPool pool = fakes(1);
  const auto results = run_all(pool, {"echo", "crash", "echo", "exit", "echo"}, 10s);
  EXPECT_EQ(results[1].status, TaskResult::Status::died);
  EXPECT_THAT(results[1].detail, HasSubstr("was killed by signal 11"));
  EXPECT_EQ(results[3].status, TaskResult::Status::died);
  EXPECT_THAT(results[3].detail, HasSubstr("exited with code 3"));
  for (const int i : {0, 2, 4}) EXPECT_EQ(results[i].status, TaskResult::Status::reply) << i;
}

TEST_F(WorkerPoolTest, AHangEndsAtItsLimit) {
  WorkerPool pool = fakes(2);
  const auto start = std::chrono::steady_clock::now();
  const auto results = run_all(pool, {"hang", "echo", "echo"}, 500ms);
  EXPECT_EQ(results[0].status, TaskResult::Status::timed_out);
  EXPECT_EQ(results[1].status, TaskResult::Status::reply);
  EXPECT_EQ(results[2].status, TaskResult::Status::reply);
  EXPECT_LT(std::chrono::steady_clock::now() - start, 5s);
}

TEST_F(WorkerPoolTest, AWorkerThatLeavesBetweenTasksIsReplaced) {
  WorkerPool pool = fakes(1);
  const auto results = run_all(pool, {"reply_and_leave", "echo", "reply_and_leave", "echo"}, 10s);
  for (const TaskResult& result : results) EXPECT_EQ(result.status, TaskResult::Status::reply);
}

TEST_F(WorkerPoolTest, TakesRepliesLargerThanAPipe) {
  WorkerPool pool = fakes(1);
  const auto results = run_all(pool, {"large"}, 10s);
  ASSERT_EQ(results[0].status, TaskResult::Status::reply);
  EXPECT_EQ(results[0].reply.at("text").get<std::string>().size(), 1u << 20);
}

TEST_F(WorkerPoolTest, CallThrowsWhatTheWorkerRefused) {
  WorkerPool pool = fakes(1);
  try {
    pool.call("refuse", 1, 10s);
    FAIL() << "accepted";
  } catch (const DeviceError& error) {
    EXPECT_STREQ(error.what(), "no such device");
  }
}

TEST_F(WorkerPoolTest, AbandonForgetsTasksAndGoesOnAfterwards) {
  WorkerPool pool = fakes(1);
  bool called = false;
  pool.submit({"hang", 1, 10s, [&](TaskResult) { called = true; }});
  pool.abandon();
  EXPECT_EQ(pool.pending(), 0u);
  EXPECT_EQ(run_all(pool, {"echo"}, 10s)[0].status, TaskResult::Status::reply);
  EXPECT_FALSE(called);
}

}  // namespace
}  // namespace gemm_tune
