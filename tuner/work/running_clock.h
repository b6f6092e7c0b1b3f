// SPDX-License-Identifier: Apache-2.0
// The time that this process has been running: every time limit of a run counts in it.
//
// A process that is stopped (Ctrl-Z, SIGSTOP) or whose machine sleeps cannot serve its workers, and
// workers of its process group do not run either: that while counts against nobody. No system clock
// leaves it out, so this one is read often, by a thread that does nothing else: it goes on where
// the others wait for a lock or a disk, which counts, and rests where the whole process does. Any
// thread.
#pragma once

#include <chrono>
#include <condition_variable>
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

  // The most that counts of the time between two readings. Far above a Reader's interval, since a
  // busy machine wakes a thread late.
  static constexpr std::chrono::milliseconds kMostGap{500};

  static time_point now();

  // Reads the clock while it lives.
  class Reader {
   public:
    Reader();

   private:
    void read_often(const std::stop_token& stop);

    std::mutex mutex_;
    std::condition_variable_any stopped_;
    std::jthread thread_;  // last: it uses the others
  };
};

}  // namespace gemm_tune
