// SPDX-License-Identifier: Apache-2.0
// How long a call waits while another process has the database locked, and a callback for that
// time.
//
// The library itself prints nothing; a program with a user passes a callback.
#pragma once

#include <chrono>
#include <functional>
#include <thread>
#include <utility>

namespace gemm_tune {

struct LockWait {
  LockWait() = default;
  template <class Rep, class Period>
  LockWait(std::chrono::duration<Rep, Period> lock_timeout, std::function<void()> waiting = nullptr)
      : timeout(lock_timeout), on_wait(std::move(waiting)) {}

  std::chrono::milliseconds timeout = std::chrono::seconds(30);
  // Called once in each wait that lasts a second, from the waiting thread. Must not throw.
  std::function<void()> on_wait;
  // Sleeps between two looks at the lock; the wait counts these times.
  std::function<void(std::chrono::milliseconds)> pause = [](std::chrono::milliseconds time) {
    std::this_thread::sleep_for(time);
  };
};

}  // namespace gemm_tune
