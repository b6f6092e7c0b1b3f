// SPDX-License-Identifier: Apache-2.0
#include "tuner/running_clock.h"

#include <time.h>

#include <algorithm>
#include <mutex>

namespace gemm_tune {
namespace {

RunningClock::duration cpu_time() {
  timespec used{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
  return std::chrono::seconds(used.tv_sec) + std::chrono::nanoseconds(used.tv_nsec);
}

}  // namespace

RunningClock::duration running_part(RunningClock::duration between,
                                    RunningClock::duration cpu_used) {
  return std::min(between, std::max<RunningClock::duration>(RunningClock::kMostGap, cpu_used));
}

RunningClock::time_point RunningClock::now() {
  static std::mutex mutex;
  static auto last_wall = std::chrono::steady_clock::now();
  static duration last_cpu = cpu_time(), total{};
  const std::lock_guard lock(mutex);
  const auto wall = std::chrono::steady_clock::now();
  const duration cpu = cpu_time();
  total += running_part(wall - last_wall, cpu - last_cpu);
  last_wall = wall;
  last_cpu = cpu;
  return time_point(total);
}

}  // namespace gemm_tune
