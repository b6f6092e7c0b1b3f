// SPDX-License-Identifier: Apache-2.0
// The time that this process has been running: every time limit of a run counts in it.
//
// A process that is stopped (Ctrl-Z, SIGSTOP) or whose machine sleeps cannot serve its workers, and
// workers of its process group do not run either: that while counts against nobody. No system clock
// leaves it out, so this one is read often, and the time between two readings counts up to kMostGap
// only, or up to the CPU time used meanwhile: then the process was at work, not stopped. Any
// thread.
#pragma once

#include <chrono>

namespace gemm_tune {

struct RunningClock {
  using duration = std::chrono::steady_clock::duration;
  using rep = duration::rep;
  using period = duration::period;
  using time_point = std::chrono::time_point<RunningClock>;
  static constexpr bool is_steady = true;

  // Whoever waits reads it this often.
  static constexpr std::chrono::milliseconds kTick{100};
  // Above the tick, since a busy machine wakes a process late.
  static constexpr std::chrono::milliseconds kMostGap{500};

  static time_point now();
};

// How much of the time between two readings counts. Pure.
RunningClock::duration running_part(RunningClock::duration between,
                                    RunningClock::duration cpu_used);

}  // namespace gemm_tune
