// SPDX-License-Identifier: Apache-2.0
#include "tuner/work/running_clock.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <thread>

namespace gemm_tune {
namespace {

using namespace std::chrono_literals;

TEST(RunningClock, GoesWithTheWallClockWhileItIsRead) {
  // The wall clock is read outside both readings, so that its span holds theirs.
  const auto wall = std::chrono::steady_clock::now();
  const auto start = RunningClock::now();
  for (int i = 0; i < 20; ++i) std::this_thread::sleep_for(10ms);
  const auto passed = RunningClock::now() - start;
  EXPECT_GE(passed, 200ms);
  EXPECT_LE(passed, std::chrono::steady_clock::now() - wall);
}

TEST(RunningClock, AGapBetweenTwoReadingsCountsUpToItsBound) {
  const auto start = RunningClock::now();
  std::this_thread::sleep_for(1500ms);
  EXPECT_EQ(RunningClock::now() - start, 500ms);
}

TEST(RunningClock, AWaitOfTheThreadThatAsksCountsWhileThereIsAReader) {
  const RunningClock::Reader reader;
  const auto start = RunningClock::now();
  std::this_thread::sleep_for(2s);
  EXPECT_GE(RunningClock::now() - start, 1500ms);
}

TEST(RunningClock, AStopOfTheProcessDoesNotCountThoughThereIsAReader) {
  const pid_t program = fork();
  if (program == 0) {
    const RunningClock::Reader reader;
    const auto start = RunningClock::now();
    std::this_thread::sleep_for(2s);  // 400 ms of it before the stop
    const auto passed = RunningClock::now() - start;
    _exit(passed >= 300ms && passed <= 1500ms ? 0 : 1);
  }
  std::this_thread::sleep_for(400ms);
  kill(program, SIGSTOP);
  std::this_thread::sleep_for(3s);
  kill(program, SIGCONT);
  int status = 0;
  waitpid(program, &status, 0);
  EXPECT_TRUE(WIFEXITED(status)) << status;
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

}  // namespace
}  // namespace gemm_tune
