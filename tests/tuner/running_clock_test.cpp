// SPDX-License-Identifier: Apache-2.0
#include "tuner/running_clock.h"

#include <gtest/gtest.h>

#include <thread>

namespace gemm_tune {
namespace {

using namespace std::chrono_literals;

TEST(RunningClock, CountsALongGapOnlyAsFarAsTheProcessWasAtWork) {
  EXPECT_EQ(running_part(100ms, 0ms), 100ms);
  EXPECT_EQ(running_part(500ms, 0ms), 500ms);
  EXPECT_EQ(running_part(70s, 0ms), 500ms);
  EXPECT_EQ(running_part(70s, 3s), 3s);
  EXPECT_EQ(running_part(3s, 3s), 3s);
  EXPECT_EQ(running_part(3s, 9s), 3s);  // of three threads
}

TEST(RunningClock, GoesWithTheWallClockWhileItIsRead) {
  const auto start = RunningClock::now();
  const auto wall = std::chrono::steady_clock::now();
  for (int i = 0; i < 20; ++i) std::this_thread::sleep_for(10ms);
  const auto passed = RunningClock::now() - start;
  EXPECT_GE(passed, 200ms);
  EXPECT_LE(passed, std::chrono::steady_clock::now() - wall);
}

}  // namespace
}  // namespace gemm_tune
