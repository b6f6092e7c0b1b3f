// SPDX-License-Identifier: Apache-2.0
#include "tuner/work/running_clock.h"

#include <algorithm>
#include <utility>

#include "tuner/work/signals_blocked.h"

namespace gemm_tune {

RunningClock::time_point RunningClock::now() {
  static std::mutex mutex;
  static auto last = std::chrono::steady_clock::now();
  static duration total{};
  const std::lock_guard lock(mutex);
  const auto wall = std::chrono::steady_clock::now();
  total += std::min<duration>(wall - std::exchange(last, wall), kMostGap);
  return time_point(total);
}

RunningClock::Reader::Reader() {
  const SignalsBlocked blocked;
  thread_ = std::jthread([this](const std::stop_token& stop) { read_often(stop); });
}

void RunningClock::Reader::read_often(const std::stop_token& stop) {
  constexpr std::chrono::milliseconds kInterval{100};
  std::unique_lock lock(mutex_);
  while (!stop.stop_requested()) {
    now();
    stopped_.wait_for(lock, stop, kInterval, [] { return false; });
  }
}

}  // namespace gemm_tune
