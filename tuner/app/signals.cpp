// SPDX-License-Identifier: Apache-2.0
#include "tuner/app/signals.h"

#include <poll.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <thread>

#include "tuner/app/exit_code.h"
#include "tuner/work/signals_blocked.h"

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

bool survives_hangup() {  // nohup's wish
  struct sigaction on_hangup {};
  sigaction(SIGHUP, nullptr, &on_hangup);
  return on_hangup.sa_handler == SIG_IGN;
}

}  // namespace

Interruption watch_for_signals() {
  struct sigaction action {};
  action.sa_handler = on_signal;
  // stdio loses text where a write ends early. poll() returns all the same.
  action.sa_flags = SA_RESTART;
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
  if (!survives_hangup()) sigaction(SIGHUP, &action, nullptr);
  return Interruption(flag);
}

void watch_for_reader() {
  if (survives_hangup()) return;
  const SignalsBlocked for_the_main_thread;
  std::thread([] {
    pollfd output{STDOUT_FILENO, 0, 0};  // of a pipe, POLLERR: nobody can read it any more
    while (poll(&output, 1, -1) < 0 && errno == EINTR) {
    }
    if ((output.revents & POLLERR) != 0) flag = true;
  }).detach();
}

bool has_been_interrupted() { return flag; }

}  // namespace gemm_tune
