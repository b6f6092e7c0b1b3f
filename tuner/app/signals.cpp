// SPDX-License-Identifier: Apache-2.0
#include "tuner/app/signals.h"

#include <signal.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>

#include "tuner/app/exit_code.h"

namespace gemm_tune {
namespace {

std::atomic<bool> flag = false;
std::atomic<std::int64_t> first_ms = 0;  // when the first signal came; 0: none has
static_assert(std::atomic<bool>::is_always_lock_free &&
                  std::atomic<std::int64_t>::is_always_lock_free,
              "a signal handler writes them");

// One request may come twice: timeout(1) signals a process and then its group.
constexpr std::int64_t kSameRequestMs = 1000;

void on_signal(int) {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  const std::int64_t now_ms = std::int64_t{now.tv_sec} * 1000 + now.tv_nsec / 1'000'000;
  std::int64_t first = 0;
  if (first_ms.compare_exchange_strong(first, now_ms)) {
    flag = true;
  } else if (now_ms - first > kSameRequestMs) {
    _exit(kExitInterrupted);
  }
}

}  // namespace

Interruption watch_for_signals() {
  struct sigaction action {};
  action.sa_handler = on_signal;
  // stdio loses text where a write ends early. poll() returns all the same.
  action.sa_flags = SA_RESTART;
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
  struct sigaction on_hangup {};
  sigaction(SIGHUP, nullptr, &on_hangup);
  if (on_hangup.sa_handler != SIG_IGN) sigaction(SIGHUP, &action, nullptr);  // nohup's wish
  return Interruption(flag);
}

bool has_been_interrupted() { return flag; }

}  // namespace gemm_tune
