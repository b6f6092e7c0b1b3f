// SPDX-License-Identifier: Apache-2.0
#include "tuner/work/worker_pool.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <set>
#include <thread>

#include "core/error.h"

namespace gemm_tune {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

class WorkerPoolTest : public testing::Test {
 protected:
  static WorkerCommand fake(const std::string& start = "greet") {
    return {std::getenv("GT_FAKE_WORKER"), start};
  }

  static WorkerPool fakes(std::size_t count) {
    return WorkerPool(std::vector<WorkerCommand>(count, fake()));
  }

  // Runs the tasks, in order of submission, and returns their results in that order.
  static std::vector<TaskResult> run_all(WorkerPool& pool, const std::vector<std::string>& verbs,
                                         std::chrono::milliseconds limit) {
    std::vector<TaskResult> results(verbs.size());
    for (std::size_t i = 0; i < verbs.size(); ++i) {
      pool.submit(
          {verbs[i], i, limit, false, [&results, i](TaskResult r) { results[i] = std::move(r); }});
    }
    while (pool.pending() > 0) WorkerPool::wait({&pool}, 1000ms);
    return results;
  }

  // What becomes of one task while `meanwhile` happens to the worker that is at work on it.
  static TaskResult disturbed(const std::string& verb, std::chrono::milliseconds limit,
                              const std::function<void(pid_t)>& meanwhile) {
    WorkerPool pool = fakes(1);
    const auto pid = run_all(pool, {"echo"}, 10s)[0].reply.at("pid").get<pid_t>();
    std::optional<TaskResult> result;
    pool.submit({verb, 0, limit, false, [&](TaskResult r) { result = std::move(r); }});
    WorkerPool::wait({&pool}, 100ms);
    meanwhile(pid);
    while (!result) WorkerPool::wait({&pool}, 1000ms);
    return *std::move(result);
  }
};

TEST_F(WorkerPoolTest, AnswersEveryTaskWithItsOwnReply) {
  WorkerPool pool = fakes(3);
  const auto results = run_all(pool, std::vector<std::string>(20, "think"), 10s);
  std::set<int> pids;
  for (std::size_t i = 0; i < results.size(); ++i) {
    ASSERT_EQ(results[i].status, TaskResult::Status::reply);
    EXPECT_EQ(results[i].reply.at("echo"), i);
    pids.insert(results[i].reply.at("pid").get<int>());
  }
  EXPECT_EQ(pids.size(), 3u);
}

TEST_F(WorkerPoolTest, ARequestIsBroughtUpToDateWhenAWorkerIsFreeForIt) {
  WorkerPool pool = fakes(1);
  int finished = 0;
  std::vector<int> sent;
  for (int i = 0; i < 3; ++i) {
    pool.submit({"echo", -1, 10s, false,
                 [&](const TaskResult& result) {
                   sent.push_back(result.reply.at("echo").get<int>());
                   ++finished;
                 },
                 [&](nlohmann::json& request) { request = finished; }});
  }
  while (pool.pending() > 0) WorkerPool::wait({&pool}, 1000ms);
  // A worker gets its next task before the result is looked at: it must not wait for that.
  EXPECT_EQ(sent, (std::vector{0, 0, 1}));
}

TEST_F(WorkerPoolTest, AWaitEndsWhenAnotherDescriptorCanBeRead) {
  WorkerPool pool = fakes(1);
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const auto start = std::chrono::steady_clock::now();
  WorkerPool::wait({&pool}, 20ms, ends[0]);
  EXPECT_GE(std::chrono::steady_clock::now() - start, 15ms);
  ASSERT_EQ(write(ends[1], "x", 1), 1);
  WorkerPool::wait({&pool}, 60s, ends[0]);
  EXPECT_LT(std::chrono::steady_clock::now() - start, 30s);
  close(ends[0]);
  close(ends[1]);
}

TEST_F(WorkerPoolTest, ACrashIsTheTasksOwnAndTheNextTaskGetsAFreshWorker) {
  WorkerPool pool = fakes(1);
  const auto results = run_all(pool, {"echo", "crash", "echo", "exit", "echo"}, 10s);
  EXPECT_EQ(results[1].status, TaskResult::Status::died);
  EXPECT_THAT(results[1].detail, HasSubstr("was killed by signal 11"));
  EXPECT_EQ(results[3].status, TaskResult::Status::died);
  EXPECT_THAT(results[3].detail, HasSubstr("exited with code 3"));
  for (const std::size_t i : {0u, 2u, 4u})
    EXPECT_EQ(results[i].status, TaskResult::Status::reply) << i;
}

TEST_F(WorkerPoolTest, TheEnvironmentIsToBlameForAKillAStopAndALackOfMemoryAndForNothingElse) {
  const auto nothing = [](pid_t) {};
  const auto send = [](int signal) { return [signal](pid_t pid) { kill(pid, signal); }; };
  const TaskResult killed = disturbed("hang", 10s, send(SIGKILL));
  EXPECT_EQ(killed.status, TaskResult::Status::died);
  EXPECT_TRUE(killed.by_environment) << killed.detail;
  EXPECT_TRUE(disturbed("hang", 10s, send(SIGTERM)).by_environment);
  const TaskResult stopped = disturbed("work", 500ms, send(SIGSTOP));
  EXPECT_EQ(stopped.status, TaskResult::Status::timed_out);
  EXPECT_TRUE(stopped.by_environment) << stopped.detail;
  const TaskResult starved = disturbed("no_memory", 10s, nothing);
  EXPECT_EQ(starved.status, TaskResult::Status::died);
  EXPECT_TRUE(starved.by_environment) << starved.detail;

  EXPECT_FALSE(disturbed("hang", 500ms, nothing).by_environment);
  EXPECT_FALSE(disturbed("crash", 10s, nothing).by_environment);
  EXPECT_FALSE(disturbed("hang", 10s, send(SIGSEGV)).by_environment);
  EXPECT_FALSE(disturbed("exit", 10s, nothing).by_environment);
  const TaskResult garbled = disturbed("nonsense", 10s, nothing);
  EXPECT_EQ(garbled.status, TaskResult::Status::died);
  EXPECT_FALSE(garbled.by_environment);
  EXPECT_THAT(garbled.detail, HasSubstr("no reply"));
}

TEST_F(WorkerPoolTest, AStopOfAnEarlierTaskExcusesNoLaterOne) {
  WorkerPool pool = fakes(1);
  const auto pid = run_all(pool, {"echo"}, 10s)[0].reply.at("pid").get<pid_t>();
  kill(pid, SIGSTOP);
  kill(pid, SIGCONT);
  EXPECT_FALSE(run_all(pool, {"hang"}, 300ms)[0].by_environment);
}

// The whole group, as by Ctrl-Z: a child that waits for a task, and its worker.
TEST_F(WorkerPoolTest, ALimitDoesNotCountTheTimeInWhichTheProgramIsStopped) {
  const pid_t program = fork();
  if (program == 0) {
    setpgid(0, 0);
    WorkerPool pool = fakes(1);
    const auto results = run_all(pool, std::vector<std::string>(5, "work"), 1500ms);
    int replies = 0;
    for (const TaskResult& result : results) {
      replies += result.status == TaskResult::Status::reply ? 1 : 0;
    }
    _exit(replies);
  }
  setpgid(program, program);
  for (int i = 0; i < 2; ++i) {
    std::this_thread::sleep_for(400ms);
    kill(-program, SIGSTOP);
    std::this_thread::sleep_for(2s);
    kill(-program, SIGCONT);
  }
  int status = 0;
  waitpid(program, &status, 0);
  EXPECT_TRUE(WIFEXITED(status)) << status;
  EXPECT_EQ(WEXITSTATUS(status), 5);
}

TEST_F(WorkerPoolTest, WhereTheSystemStartsNoProcessATaskWaitsALittleAndThenLearnsWhy) {
  rlimit limit{};
  getrlimit(RLIMIT_NOFILE, &limit);
  WorkerPool pool = fakes(1);
  std::vector<TaskResult> results;
  const auto keep = [&](TaskResult result) { results.push_back(std::move(result)); };
  // Room for two descriptors, where a worker needs three for a moment. UBSan needs two to look at
  // the exception.
  const int first = dup(STDERR_FILENO), second = dup(STDERR_FILENO);
  close(first);
  close(second);
  const rlimit one_pipe{static_cast<rlim_t>(std::max(first, second)) + 1, limit.rlim_max};
  setrlimit(RLIMIT_NOFILE, &one_pipe);
  pool.submit({"echo", 1, 10s, false, keep});
  setrlimit(RLIMIT_NOFILE, &limit);
  while (results.empty()) WorkerPool::wait({&pool}, 1000ms);
  EXPECT_EQ(results[0].status, TaskResult::Status::reply);

  WorkerPool none({{"/nowhere/worker"}});
  for (int i = 0; i < 2; ++i) none.submit({"echo", 1, 10s, false, keep});
  while (results.size() < 3) WorkerPool::wait({&none}, 1000ms);
  for (const std::size_t i : {1u, 2u}) {
    EXPECT_EQ(results[i].status, TaskResult::Status::refused);
    EXPECT_THAT(results[i].detail, HasSubstr("cannot start a worker process"));
  }
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

// Its successor waits until the GPU is free.
TEST_F(WorkerPoolTest, AWorkerThatDoesNotLeaveIsKilledAndStopsNobody) {
  WorkerPool staying = fakes(1), stopped = fakes(1);
  EXPECT_EQ(run_all(staying, {"reply_and_stay"}, 10s)[0].status, TaskResult::Status::reply);
  const auto pid = run_all(stopped, {"echo"}, 10s)[0].reply.at("pid").get<pid_t>();
  kill(pid, SIGSTOP);
  int replies = 0;
  const auto count = [&](const TaskResult& result) {
    replies += result.status == TaskResult::Status::reply ? 1 : 0;
  };
  staying.submit({"echo", 1, 10s, false, count});
  stopped.submit({"echo", 1, 10s, /*fresh=*/true, count});
  const auto start = std::chrono::steady_clock::now();
  while (staying.pending() + stopped.pending() > 0 &&
         std::chrono::steady_clock::now() - start < 30s) {
    WorkerPool::wait({&staying, &stopped}, 1000ms);
  }
  EXPECT_EQ(replies, 2);
}

TEST_F(WorkerPoolTest, TakesRepliesLargerThanAPipe) {
  WorkerPool pool = fakes(1);
  const auto results = run_all(pool, {"large"}, 10s);
  ASSERT_EQ(results[0].status, TaskResult::Status::reply);
  EXPECT_EQ(results[0].reply.at("text").get<std::string>().size(), 1u << 20);
}

TEST_F(WorkerPoolTest, SendsRequestsLargerThanAPipeToSeveralWorkersAtATime) {
  WorkerPool pool = fakes(2);
  std::vector<std::size_t> sizes;
  for (std::size_t i = 0; i < 4; ++i) {
    const std::string text((8u << 20) + i, 'x');
    pool.submit({"echo", text, 30s, false, [&](const TaskResult& result) {
                   ASSERT_EQ(result.status, TaskResult::Status::reply) << result.detail;
                   sizes.push_back(result.reply.at("echo").get<std::string>().size());
                 }});
  }
  while (pool.pending() > 0) WorkerPool::wait({&pool}, 1000ms);
  std::sort(sizes.begin(), sizes.end());
  EXPECT_EQ(sizes,
            std::vector<std::size_t>({8u << 20, (8u << 20) + 1, (8u << 20) + 2, (8u << 20) + 3}));
}

// Each side waits for the other to read where the program waited for room.
TEST_F(WorkerPoolTest, AWorkerThatAnswersBeforeItReadsIsRefusedAndStopsNobody) {
  WorkerPool pool({fake("write_first")});
  std::optional<TaskResult> result;
  pool.submit({"echo", std::string(4 << 20, 'x'), 30s, false,
               [&](TaskResult r) { result = std::move(r); }});
  const auto start = std::chrono::steady_clock::now();
  while (!result) WorkerPool::wait({&pool}, 1000ms);
  EXPECT_EQ(result->status, TaskResult::Status::died);
  EXPECT_THAT(result->detail, HasSubstr("no reply"));
  EXPECT_LT(std::chrono::steady_clock::now() - start, 20s);
}

TEST_F(WorkerPoolTest, AWorkerWithoutMemoryForTheRequestIsTheEnvironmentsFailure) {
  WorkerPool pool({fake("starve_first")});
  std::optional<TaskResult> result;
  pool.submit({"echo", std::string(4 << 20, 'x'), 30s, false,
               [&](TaskResult r) { result = std::move(r); }});
  while (!result) WorkerPool::wait({&pool}, 1000ms);
  EXPECT_EQ(result->status, TaskResult::Status::died);
  EXPECT_TRUE(result->by_environment) << result->detail;
}

TEST_F(WorkerPoolTest, AFrameThatIsTooLongTooDeepOrCutShortIsTheWorkersFailure) {
  WorkerPool pool = fakes(1);
  const auto results = run_all(pool, {"endless_frame", "deep_frame", "half_frame", "echo"}, 10s);
  for (const std::size_t i : {0u, 1u, 2u}) {
    EXPECT_EQ(results[i].status, TaskResult::Status::died) << i;
    EXPECT_FALSE(results[i].by_environment) << i;
  }
  EXPECT_THAT(results[0].detail, HasSubstr("no reply"));
  EXPECT_THAT(results[1].detail, HasSubstr("no reply"));
  EXPECT_EQ(results[3].status, TaskResult::Status::reply);
}

TEST_F(WorkerPoolTest, TakesAReplyThatComesByteByByte) {
  WorkerPool pool = fakes(1);
  EXPECT_EQ(run_all(pool, {"slow_frame"}, 10s)[0].status, TaskResult::Status::reply);
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
  pool.submit({"hang", 1, 10s, false, [&](TaskResult) { called = true; }});
  pool.abandon();
  EXPECT_EQ(pool.pending(), 0u);
  EXPECT_EQ(run_all(pool, {"echo"}, 10s)[0].status, TaskResult::Status::reply);
  EXPECT_FALSE(called);
}

TEST_F(WorkerPoolTest, ATaskThatWantsAFreshWorkerGetsOneThatHasServedNothing) {
  for (const bool spares : {false, true}) {
    WorkerPool pool({fake()}, spares);
    EXPECT_TRUE(run_all(pool, {"echo"}, 10s)[0].fresh);
    EXPECT_FALSE(run_all(pool, {"echo"}, 10s)[0].fresh);
    std::optional<TaskResult> result;
    pool.submit({"echo", 1, 10s, true, [&](TaskResult r) { result = std::move(r); }});
    while (!result) WorkerPool::wait({&pool}, 1000ms);
    EXPECT_EQ(result->status, TaskResult::Status::reply);
    EXPECT_TRUE(result->fresh);
  }
}

TEST_F(WorkerPoolTest, AWarmSpareTakesOverFromAWorkerThatWasLost) {
  WorkerPool pool({fake("greet_slowly")}, /*warm_spares=*/true);
  run_all(pool, {"echo"}, 10s);
  std::this_thread::sleep_for(600ms);  // the spare's start
  const auto start = std::chrono::steady_clock::now();
  const auto results = run_all(pool, {"crash", "echo"}, 10s);
  EXPECT_LT(std::chrono::steady_clock::now() - start, 300ms);
  EXPECT_EQ(results[0].status, TaskResult::Status::died);
  EXPECT_EQ(results[1].status, TaskResult::Status::reply);
}

TEST_F(WorkerPoolTest, AWorkerKilledFromOutsideBetweenTasksIsNobodysFault) {
  WorkerPool pool = fakes(1);
  const auto first = run_all(pool, {"echo"}, 10s);
  kill(first[0].reply.at("pid").get<pid_t>(), SIGKILL);
  std::this_thread::sleep_for(50ms);
  EXPECT_EQ(run_all(pool, {"echo"}, 10s)[0].status, TaskResult::Status::reply);
}

TEST_F(WorkerPoolTest, AWorkerThatCannotSetUpRefusesItsTasksWithItsOwnWords) {
  WorkerPool pool({fake("greet_with_error")}, /*warm_spares=*/true);
  const auto results = run_all(pool, {"echo", "echo"}, 10s);
  for (const TaskResult& result : results) {
    EXPECT_EQ(result.status, TaskResult::Status::refused);
    EXPECT_EQ(result.detail, "no GPU today");
  }
}

TEST_F(WorkerPoolTest, WorkersThatDieBeforeTheyGreetAreNotTheTasksFault) {
  WorkerPool pool({fake("die")});
  const auto results = run_all(pool, {"echo"}, 10s);
  EXPECT_EQ(results[0].status, TaskResult::Status::refused);
  EXPECT_EQ(results[0].detail, "a worker process cannot start: it exited with code 4");
}

TEST_F(WorkerPoolTest, CountsTheTimeSpentOnTasksAndNotOnStarting) {
  WorkerPool pool({fake("greet_slowly")});
  EXPECT_EQ(pool.busy().count(), 0);
  run_all(pool, {"hang", "echo"}, 300ms);
  EXPECT_GT(pool.busy().count(), 0.29);
  EXPECT_LT(pool.busy().count(), 0.49);
}

}  // namespace
}  // namespace gemm_tune
