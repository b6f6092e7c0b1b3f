// SPDX-License-Identifier: Apache-2.0
#include "cli/output/signals.h"

#include <poll.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <thread>

#include "cli/output/exit_code.h"
#include "tuner/process/signals_blocked.h"

namespace gemm_tune {
namespace {

std::atomic<bool> flag = false;
std::atomic<bool> reader_has_left = false;
static_assert(std::atomic<bool>::is_always_lock_free, "a signal handler writes it");
SignalRequests requests;

void on_signal(int) {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  switch (requests.at(std::int64_t{now.tv_sec} * 1000 + now.tv_nsec / 1'000'000)) {
    case SignalRequests::Request::interruption:
      flag = true;
      break;
    case SignalRequests::Request::the_same_again:
      break;
    case SignalRequests::Request::exit:
      _exit(kExitInterrupted);
  }
}

bool survives_hangup() {  // nohup's wish
  struct sigaction on_hangup {};
  sigaction(SIGHUP, nullptr, &on_hangup);
  return on_hangup.sa_handler == SIG_IGN;
}

}  // namespace

SignalRequests::Request SignalRequests::at(std::int64_t now_ms) {
  std::int64_t first = 0;
  if (first_ms_.compare_exchange_strong(first, now_ms)) return Request::interruption;
  return now_ms - first > kSameRequestMs ? Request::exit : Request::the_same_again;
}

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
    if ((output.revents & POLLERR) == 0) return;
    reader_has_left = true;
    flag = true;
  }).detach();
}

bool has_been_interrupted() { return flag; }

void end_without_reader() {
  if (reader_has_left) raise(SIGPIPE);
}

}  // namespace gemm_tune
