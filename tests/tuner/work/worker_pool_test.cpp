// SPDX-License-Identifier: Apache-2.0
#include "tuner/work/worker_pool.h"

#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <set>

#include "core/error.h"
#include "tests/matchers.h"
#include "tests/temp_folder.h"

namespace gemm_tune {
namespace {

using namespace std::chrono_literals;

// Waits in poll() end by themselves after this time, and are then begun again.
constexpr std::chrono::milliseconds kWait{1000};

// The limits of all tasks count in a time that passes only where a test says so.
class WorkerPoolTest : public testing::Test {
 protected:
  WorkerCommand fake(const std::string& start = "greet") const {
    return {std::getenv("GT_FAKE_WORKER"), start, folder_.path().string()};
  }

  WorkerPool pool(std::vector<WorkerCommand> commands, bool warm_spares = false) const {
    return WorkerPool(std::move(commands), warm_spares, [this](pid_t) { return now_; });
  }

  WorkerPool fakes(std::size_t count) const {
    return pool(std::vector<WorkerCommand>(count, fake()));
  }

  // Runs the tasks, in order of submission, and returns their results in that order.
  static std::vector<TaskResult> run_all(WorkerPool& pool, const std::vector<std::string>& verbs) {
    std::vector<TaskResult> results(verbs.size());
    for (std::size_t i = 0; i < verbs.size(); ++i) {
      pool.submit(
          {verbs[i], i, 10s, false, [&results, i](TaskResult r) { results[i] = std::move(r); }});
    }
    while (pool.pending() > 0) WorkerPool::wait({&pool}, kWait);
    return results;
  }

  static pid_t pid_of_worker(WorkerPool& pool) {
    return run_all(pool, {"echo"})[0].reply.at("pid").get<pid_t>();
  }

  // What becomes of one task, with a limit of 10 s, while `meanwhile` happens to the worker that is
  // at work on it.
  TaskResult disturbed(const std::string& verb, const std::function<void(pid_t)>& meanwhile) {
    WorkerPool pool = fakes(1);
    const pid_t pid = pid_of_worker(pool);
    std::optional<TaskResult> result;
    pool.submit({verb, 0, 10s, false, [&](TaskResult r) { result = std::move(r); }});
    meanwhile(pid);
    while (!result) WorkerPool::wait({&pool}, kWait);
    return *std::move(result);
  }

  // Until the child has stopped, gone on or ended, as `what` says; its pool still sees that.
  static void await_change(pid_t pid, int what) {
    siginfo_t info{};
    ASSERT_EQ(waitid(P_PID, static_cast<id_t>(pid), &info, what | WNOWAIT), 0);
  }

  const TempFolder folder_;
  RunningClock::time_point now_;
};

TEST_F(WorkerPoolTest, AnswersEveryTaskWithItsOwnReply) {
  WorkerPool pool = fakes(3);
  const auto results = run_all(pool, std::vector<std::string>(20, "meet_3"));
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
  while (pool.pending() > 0) WorkerPool::wait({&pool}, kWait);
  // A worker gets its next task before the result is looked at: it must not wait for that.
  EXPECT_EQ(sent, (std::vector{0, 0, 1}));
}

TEST_F(WorkerPoolTest, AWaitEndsWhenAnotherDescriptorCanBeRead) {
  WorkerPool pool = fakes(1);
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  WorkerPool::wait({&pool}, 1ms, ends[0]);
  ASSERT_EQ(write(ends[1], "x", 1), 1);
  WorkerPool::wait({&pool}, 10h, ends[0]);
  close(ends[0]);
  close(ends[1]);
}

// By a clock of the test's own.
TEST_F(WorkerPoolTest, AGpuRestsUntilItsShareIsKept) {
  WorkerPool pool({fake()}, false, [this](pid_t) { return now_; }, {0.25, [this] { return now_; }});
  pid_of_worker(pool);
  int sent = 0, done = 0;
  for (int i = 0; i < 2; ++i) {
    pool.submit({"echo", i, 10s, false, [&](const TaskResult&) { ++done; },
                 [&](nlohmann::json&) { ++sent; }});
  }
  now_ += 2s;  // of which the first task takes all
  while (done < 1) WorkerPool::wait({&pool}, kWait);
  for (const auto time : {0ms, 3000ms, 2999ms}) {
    now_ += time;
    WorkerPool::wait({&pool}, 1ms);
    EXPECT_EQ(sent, 1);
  }
  now_ += 1ms;
  while (done < 2) WorkerPool::wait({&pool}, kWait);
  EXPECT_EQ(sent, 2);
}

TEST_F(WorkerPoolTest, ATaskThatNobodyWaitsForEndsWhileItsGpuRests) {
  WorkerPool pool({fake()}, false, [this](pid_t) { return now_; }, {0.01, [this] { return now_; }});
  pid_of_worker(pool);
  std::vector<TaskResult::Status> results;
  for (const std::uint64_t number : {1U, 2U}) {
    pool.submit({"echo", 0, 10s, false, [&](const TaskResult& r) { results.push_back(r.status); },
                 nullptr, number});
  }
  now_ += 1s;
  while (results.empty()) WorkerPool::wait({&pool}, kWait);
  pool.hurry(2);
  EXPECT_EQ(results, (std::vector{TaskResult::Status::reply, TaskResult::Status::died}));
}

TEST_F(WorkerPoolTest, ACrashIsTheTasksOwnAndTheNextTaskGetsAFreshWorker) {
  WorkerPool pool = fakes(1);
  const auto results = run_all(pool, {"echo", "crash", "echo", "exit", "echo"});
  EXPECT_EQ(results[1].status, TaskResult::Status::died);
  EXPECT_THAT(results[1].detail, HasSubstr("was killed by signal 11"));
  EXPECT_EQ(results[3].status, TaskResult::Status::died);
  EXPECT_THAT(results[3].detail, HasSubstr("exited with code 3"));
  for (const std::size_t i : {0u, 2u, 4u})
    EXPECT_EQ(results[i].status, TaskResult::Status::reply) << i;
}

TEST_F(WorkerPoolTest, TheEnvironmentIsToBlameForAKillAStopAndALackOfMemoryAndForNothingElse) {
  const auto nothing = [](pid_t) {};
  const auto time_passes = [&](pid_t) { now_ += 10s; };
  const auto send = [](int signal) { return [signal](pid_t pid) { kill(pid, signal); }; };
  const TaskResult killed = disturbed("hang", send(SIGKILL));
  EXPECT_EQ(killed.status, TaskResult::Status::died);
  EXPECT_TRUE(killed.by_environment) << killed.detail;
  EXPECT_TRUE(disturbed("hang", send(SIGTERM)).by_environment);
  const TaskResult stopped = disturbed("hang", [&](pid_t pid) {
    kill(pid, SIGSTOP);
    await_change(pid, WSTOPPED);
    now_ += 10s;
  });
  EXPECT_EQ(stopped.status, TaskResult::Status::timed_out);
  EXPECT_TRUE(stopped.by_environment) << stopped.detail;
  const TaskResult starved = disturbed("no_memory", nothing);
  EXPECT_EQ(starved.status, TaskResult::Status::died);
  EXPECT_TRUE(starved.by_environment) << starved.detail;

  EXPECT_FALSE(disturbed("hang", time_passes).by_environment);
  EXPECT_FALSE(disturbed("crash", nothing).by_environment);
  EXPECT_FALSE(disturbed("hang", send(SIGSEGV)).by_environment);
  EXPECT_FALSE(disturbed("exit", nothing).by_environment);
  const TaskResult garbled = disturbed("nonsense", nothing);
  EXPECT_EQ(garbled.status, TaskResult::Status::died);
  EXPECT_FALSE(garbled.by_environment);
  EXPECT_THAT(garbled.detail, HasSubstr("no reply"));
}

TEST_F(WorkerPoolTest, AStopOfAnEarlierTaskExcusesNoLaterOne) {
  WorkerPool pool = fakes(1);
  const pid_t pid = pid_of_worker(pool);
  kill(pid, SIGSTOP);
  await_change(pid, WSTOPPED);
  kill(pid, SIGCONT);
  await_change(pid, WCONTINUED);
  std::optional<TaskResult> result;
  pool.submit({"hang", 0, 10s, false, [&](TaskResult r) { result = std::move(r); }});
  now_ += 10s;
  while (!result) WorkerPool::wait({&pool}, kWait);
  EXPECT_FALSE(result->by_environment);
}

// As by Ctrl-Z, which stops the program's worker too.
TEST_F(WorkerPoolTest, ALimitDoesNotCountTheTimeInWhichTheProgramIsStopped) {
  std::chrono::steady_clock::time_point wall;
  RunningTime running([&] { return wall; });
  WorkerPool pool({fake()}, false, [&](pid_t) { return running.now(); });
  pid_of_worker(pool);
  std::optional<TaskResult> result;
  pool.submit({"hang", 0, 1500ms, false, [&](TaskResult r) { result = std::move(r); }});
  for (int i = 0; i < 2; ++i) {
    wall += 1h;
    WorkerPool::wait({&pool}, 1ms);
    EXPECT_FALSE(result);
  }
  for (int i = 0; i < 5; ++i) {
    EXPECT_FALSE(result);
    wall += 100ms;
    WorkerPool::wait({&pool}, 1ms);
  }
  ASSERT_TRUE(result);
  EXPECT_EQ(result->status, TaskResult::Status::timed_out);
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
  while (results.empty()) WorkerPool::wait({&pool}, kWait);
  EXPECT_EQ(results[0].status, TaskResult::Status::reply);

  WorkerPool none({{"/nowhere/worker"}});
  for (int i = 0; i < 2; ++i) none.submit({"echo", 1, 10s, false, keep});
  while (results.size() < 3) WorkerPool::wait({&none}, kWait);
  for (const std::size_t i : {1u, 2u}) {
    EXPECT_EQ(results[i].status, TaskResult::Status::refused);
    EXPECT_THAT(results[i].detail, HasSubstr("cannot start a worker process"));
  }
}

TEST_F(WorkerPoolTest, AWorkerTimesCublasWithoutTheDropInUnderWhichTheProgramRuns) {
  setenv("LD_PRELOAD", "/none/libgemm_tune_blas.so:libm.so.6", 1);
  setenv("LD_AUDIT", "/none/libgemm_tune_blas_audit.so", 1);
  WorkerPool pool = fakes(1);
  const pid_t worker = pid_of_worker(pool);
  unsetenv("LD_PRELOAD");
  unsetenv("LD_AUDIT");
  const std::string environment = read_file("/proc/" + std::to_string(worker) + "/environ");
  EXPECT_THAT(environment, HasSubstr(std::string("LD_PRELOAD=libm.so.6\0", 21)));
  EXPECT_THAT(environment, Not(HasSubstr("libgemm_tune_blas")));
}

TEST_F(WorkerPoolTest, AHangEndsAtItsLimit) {
  WorkerPool pool = fakes(2);
  std::vector<TaskResult> results;
  for (const char* const verb : {"hang", "echo", "echo"}) {
    pool.submit({verb, 1, 500ms, false, [&](TaskResult r) { results.push_back(std::move(r)); }});
  }
  while (results.size() < 2) WorkerPool::wait({&pool}, kWait);
  for (const TaskResult& result : results) EXPECT_EQ(result.status, TaskResult::Status::reply);
  now_ += 499ms;
  WorkerPool::wait({&pool}, 1ms);
  EXPECT_EQ(pool.pending(), 1u);
  now_ += 1ms;
  WorkerPool::wait({&pool}, kWait);
  ASSERT_EQ(results.size(), 3u);
  EXPECT_EQ(results[2].status, TaskResult::Status::timed_out);
  EXPECT_EQ(results[2].seconds, 0.5);
}

TEST_F(WorkerPoolTest, AWorkerThatLeavesBetweenTasksIsReplaced) {
  WorkerPool pool = fakes(1);
  const auto results = run_all(pool, {"reply_and_leave", "echo", "reply_and_leave", "echo"});
  for (const TaskResult& result : results) EXPECT_EQ(result.status, TaskResult::Status::reply);
}

// Its successor waits until the GPU is free.
TEST_F(WorkerPoolTest, AWorkerThatDoesNotLeaveIsKilledAndStopsNobody) {
  WorkerPool staying = fakes(1), stopped = fakes(1);
  EXPECT_EQ(run_all(staying, {"reply_and_stay"})[0].status, TaskResult::Status::reply);
  const pid_t pid = pid_of_worker(stopped);
  kill(pid, SIGSTOP);
  await_change(pid, WSTOPPED);
  int replies = 0;
  const auto count = [&](const TaskResult& result) {
    replies += result.status == TaskResult::Status::reply ? 1 : 0;
  };
  staying.submit({"echo", 1, 10s, false, count});
  stopped.submit({"echo", 1, 10s, /*fresh=*/true, count});
  now_ += 4999ms;
  WorkerPool::wait({&staying, &stopped}, 1ms);
  EXPECT_EQ(replies, 0);
  now_ += 1ms;
  while (staying.pending() + stopped.pending() > 0) {
    WorkerPool::wait({&staying, &stopped}, kWait);
  }
  EXPECT_EQ(replies, 2);
}

TEST_F(WorkerPoolTest, TakesRepliesLargerThanAPipe) {
  WorkerPool pool = fakes(1);
  const auto results = run_all(pool, {"large"});
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
  while (pool.pending() > 0) WorkerPool::wait({&pool}, kWait);
  std::sort(sizes.begin(), sizes.end());
  EXPECT_EQ(sizes,
            std::vector<std::size_t>({8u << 20, (8u << 20) + 1, (8u << 20) + 2, (8u << 20) + 3}));
}

// Of a request that no pipe holds at once.
TaskResult answer_to_a_long_request(WorkerPool pool) {
  std::optional<TaskResult> result;
  pool.submit({"echo", std::string(4 << 20, 'x'), 30s, false,
               [&](TaskResult r) { result = std::move(r); }});
  while (!result) WorkerPool::wait({&pool}, kWait);
  return *result;
}

// Each side waits for the other to read where the program waited for room.
TEST_F(WorkerPoolTest, AWorkerThatAnswersBeforeItReadsIsRefusedAndStopsNobody) {
  const TaskResult result = answer_to_a_long_request(pool({fake("write_first")}));
  EXPECT_EQ(result.status, TaskResult::Status::died);
  EXPECT_THAT(result.detail, HasSubstr("no reply"));
}

TEST_F(WorkerPoolTest, AWorkerWithoutMemoryForTheRequestIsTheEnvironmentsFailure) {
  const TaskResult result = answer_to_a_long_request(pool({fake("starve_first")}));
  EXPECT_EQ(result.status, TaskResult::Status::died);
  EXPECT_TRUE(result.by_environment) << result.detail;
}

TEST_F(WorkerPoolTest, AFrameThatIsTooLongTooDeepOrCutShortIsTheWorkersFailure) {
  WorkerPool pool = fakes(1);
  const auto results = run_all(pool, {"endless_frame", "deep_frame", "half_frame", "echo"});
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
  EXPECT_EQ(run_all(pool, {"slow_frame"})[0].status, TaskResult::Status::reply);
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

TEST_F(WorkerPoolTest, ATaskThatNobodyWaitsForEndsSoonAndOthersGoOn) {
  WorkerPool pool = fakes(1);
  const pid_t pid = pid_of_worker(pool);
  std::map<std::uint64_t, TaskResult::Status> ended;
  const auto submit = [&](const std::string& verb, std::uint64_t number) {
    pool.submit({verb, 1, 10s, false, [&ended, number](TaskResult r) { ended[number] = r.status; },
                 nullptr, number});
  };
  submit("hang", 1);
  submit("echo", 2);
  submit("echo", 3);
  pool.hurry(2);
  EXPECT_EQ(ended, (std::map<std::uint64_t, TaskResult::Status>{{2, TaskResult::Status::died}}));
  pool.hurry(1);
  now_ += 1s;  // long before the task's own limit
  while (pool.pending() > 0) WorkerPool::wait({&pool}, kWait);
  EXPECT_EQ(ended.at(1), TaskResult::Status::timed_out);
  EXPECT_EQ(ended.at(3), TaskResult::Status::reply);
  EXPECT_NE(pid_of_worker(pool), pid);
}

TEST_F(WorkerPoolTest, AWorkerWithASpareThatSoonEndsATaskThatNobodyWaitsForServesOn) {
  WorkerPool pool = this->pool({fake()}, /*warm_spares=*/true);
  const pid_t pid = pid_of_worker(pool);
  std::optional<TaskResult> result;
  pool.submit({"echo", 1, 10s, false, [&](TaskResult r) { result = std::move(r); }, nullptr, 7});
  pool.hurry(7);
  while (!result) WorkerPool::wait({&pool}, kWait);
  EXPECT_EQ(pid_of_worker(pool), pid);
}

TEST_F(WorkerPoolTest, ATaskThatWantsAFreshWorkerGetsOneThatHasServedNothing) {
  for (const bool spares : {false, true}) {
    WorkerPool pool = this->pool({fake()}, spares);
    EXPECT_TRUE(run_all(pool, {"echo"})[0].fresh);
    EXPECT_FALSE(run_all(pool, {"echo"})[0].fresh);
    std::optional<TaskResult> result;
    pool.submit({"echo", 1, 10s, true, [&](TaskResult r) { result = std::move(r); }});
    while (!result) WorkerPool::wait({&pool}, kWait);
    EXPECT_EQ(result->status, TaskResult::Status::reply);
    EXPECT_TRUE(result->fresh);
  }
}

TEST_F(WorkerPoolTest, AWarmSpareTakesOverFromAWorkerThatWasLost) {
  WorkerPool pool = this->pool({fake("note_pid")}, /*warm_spares=*/true);
  std::set<pid_t> started = {pid_of_worker(pool)};
  while (started.size() < 2) {
    WorkerPool::wait({&pool}, 1ms);
    for (const auto& entry : std::filesystem::directory_iterator(folder_.path())) {
      started.insert(std::stoi(entry.path().filename().string()));
    }
  }
  const auto results = run_all(pool, {"crash", "echo"});
  EXPECT_EQ(results[0].status, TaskResult::Status::died);
  ASSERT_EQ(results[1].status, TaskResult::Status::reply);
  EXPECT_EQ(started.count(results[1].reply.at("pid").get<pid_t>()), 1u);
}

TEST_F(WorkerPoolTest, AWorkerKilledFromOutsideBetweenTasksIsNobodysFault) {
  WorkerPool pool = fakes(1);
  const pid_t pid = pid_of_worker(pool);
  kill(pid, SIGKILL);
  await_change(pid, WEXITED);
  EXPECT_EQ(run_all(pool, {"echo"})[0].status, TaskResult::Status::reply);
}

TEST_F(WorkerPoolTest, AWorkerThatCannotSetUpRefusesItsTasksWithItsOwnWords) {
  WorkerPool pool = this->pool({fake("greet_with_error")}, /*warm_spares=*/true);
  const auto results = run_all(pool, {"echo", "echo"});
  for (const TaskResult& result : results) {
    EXPECT_EQ(result.status, TaskResult::Status::refused);
    EXPECT_EQ(result.detail, "no GPU today");
  }
}

TEST_F(WorkerPoolTest, WorkersThatDieBeforeTheyGreetAreNotTheTasksFault) {
  WorkerPool pool = this->pool({fake("die")});
  const auto results = run_all(pool, {"echo"});
  EXPECT_EQ(results[0].status, TaskResult::Status::refused);
  EXPECT_THAT(results[0].detail, AllOf(HasSubstr("cannot start"), HasSubstr("exited with code 4")));
}

TEST_F(WorkerPoolTest, CountsTheTimeSpentOnATaskAndNotOnStarting) {
  WorkerPool pool = fakes(1);
  bool sent = false;
  std::optional<TaskResult> result;
  pool.submit({"hang", 1, 300ms, false, [&](TaskResult r) { result = std::move(r); },
               [&](nlohmann::json&) { sent = true; }});
  now_ += 400ms;  // of its start
  while (!sent) WorkerPool::wait({&pool}, kWait);
  now_ += 300ms;
  while (!result) WorkerPool::wait({&pool}, kWait);
  EXPECT_DOUBLE_EQ(result->seconds, 0.3);
}

}  // namespace
}  // namespace gemm_tune
