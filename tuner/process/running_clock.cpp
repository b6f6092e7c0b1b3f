// SPDX-License-Identifier: Apache-2.0
#include "tuner/process/running_clock.h"

#include <algorithm>
#include <utility>

#include "tuner/process/signals_blocked.h"

namespace gemm_tune {

RunningClock::time_point RunningClock::now() {
  static RunningTime of_this_process;
  return of_this_process.now();
}

RunningTime::RunningTime(Wall wall) : wall_(std::move(wall)), last_(wall_()) {}

RunningClock::time_point RunningTime::now() {
  const std::lock_guard lock(mutex_);
  const auto wall = wall_();
  total_ +=
      std::min<RunningClock::duration>(wall - std::exchange(last_, wall), RunningClock::kMostGap);
  return RunningClock::time_point(total_);
}

ClockReader::ClockReader(std::function<void()> read, std::chrono::milliseconds interval)
    : read_(std::move(read)) {
  const SignalsBlocked blocked;
  thread_ =
      std::jthread([this, interval](const std::stop_token& stop) { read_often(stop, interval); });
}

void ClockReader::read_often(const std::stop_token& stop, std::chrono::milliseconds interval) {
  std::unique_lock lock(mutex_);
  while (!stop.stop_requested()) {
    read_();
    stopped_.wait_for(lock, stop, interval, [] { return false; });
  }
}

}  // namespace gemm_tune
