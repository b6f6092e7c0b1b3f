// SPDX-License-Identifier: Apache-2.0
// How long a call waits while another process has the database locked, and who learns of it.
//
// The library itself is silent: a program that has somebody to tell passes a callback.
#pragma once

#include <chrono>
#include <functional>
#include <utility>

namespace gemm_tune {

struct LockWait {
  LockWait() = default;
  template <class Rep, class Period>
  LockWait(std::chrono::duration<Rep, Period> lock_timeout, std::function<void()> waiting = nullptr)
      : timeout(lock_timeout), on_wait(std::move(waiting)) {}

  std::chrono::milliseconds timeout = std::chrono::seconds(30);
  // Called once in each wait that lasts a second, from the thread that waits. Throws nothing.
  std::function<void()> on_wait;
};

}  // namespace gemm_tune
