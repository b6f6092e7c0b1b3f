// SPDX-License-Identifier: Apache-2.0
#include "tuner/process/running_clock.h"

#include <gtest/gtest.h>

#include <atomic>

namespace gemm_tune {
namespace {

using namespace std::chrono_literals;

class RunningTimeTest : public testing::Test {
 protected:
  std::chrono::steady_clock::time_point wall_{1h};
  RunningTime time_{[this] { return wall_; }};
  const RunningClock::time_point start_ = time_.now();
};

TEST_F(RunningTimeTest, GoesWithTheWallClockWhileItIsRead) {
  for (int i = 0; i < 20; ++i) {
    wall_ += 490ms;
    time_.now();
  }
  EXPECT_EQ(time_.now() - start_, 9800ms);
}

// A process that is stopped reads no clock, nor does a reader of its own.
TEST_F(RunningTimeTest, AGapBetweenTwoReadingsCountsUpToItsBound) {
  wall_ += 400ms;
  EXPECT_EQ(time_.now() - start_, 400ms);
  wall_ += 3h;
  EXPECT_EQ(time_.now() - start_, 900ms);
}

TEST(ClockReaderTest, ReadsAgainAndAgainWhileTheThreadThatAsksWaits) {
  std::atomic<int> readings = 0;
  const ClockReader reader(
      [&] {
        ++readings;
        readings.notify_all();
      },
      std::chrono::milliseconds(1));
  for (int seen = 0; seen < 20; seen = readings) readings.wait(seen);
}

}  // namespace
}  // namespace gemm_tune
