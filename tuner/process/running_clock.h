// SPDX-License-Identifier: Apache-2.0
// The time that this process has been running: every time limit of a run counts in it.
//
// A process that is stopped (Ctrl-Z, SIGSTOP) or whose machine sleeps cannot serve its workers, and
// workers of its process group do not run either: that while counts against nobody. No system clock
// leaves it out, so this one is read often, by a thread that does nothing else: it goes on where
// the others wait for a lock or a disk, which counts, and rests where the whole process does. The
// wall clock is passed in where a test decides how much time passes. Any thread.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <stop_token>
#include <thread>

namespace gemm_tune {

struct RunningClock {
  using duration = std::chrono::steady_clock::duration;
  using rep = duration::rep;
  using period = duration::period;
  using time_point = std::chrono::time_point<RunningClock>;
  static constexpr bool is_steady = true;

  // The most that counts of the time between two readings. Far above a reader's interval, since a
  // busy machine wakes a thread late.
  static constexpr std::chrono::milliseconds kMostGap{500};

  // Of this process.
  static time_point now();
};

// The time between the readings of a wall clock, of each gap no more than kMostGap.
class RunningTime {
 public:
  using Wall = std::function<std::chrono::steady_clock::time_point()>;

  explicit RunningTime(Wall wall = std::chrono::steady_clock::now);

  RunningClock::time_point now();

 private:
  std::mutex mutex_;
  const Wall wall_;
  std::chrono::steady_clock::time_point last_;
  RunningClock::duration total_{};
};

// Calls `read`, usually RunningClock::now(), in every interval while it lives.
class ClockReader {
 public:
  explicit ClockReader(std::function<void()> read = RunningClock::now,
                       std::chrono::milliseconds interval = std::chrono::milliseconds(100));

 private:
  void read_often(const std::stop_token& stop, std::chrono::milliseconds interval);

  const std::function<void()> read_;
  std::mutex mutex_;
  std::condition_variable_any stopped_;
  std::jthread thread_;  // last: it uses the others
};

}  // namespace gemm_tune
