// SPDX-License-Identifier: Apache-2.0
// Ctrl-C, SIGTERM and the end of the terminal as a request to end early.
#pragma once

#include <atomic>
#include <cstdint>

#include "tuner/process/interruption.h"

namespace gemm_tune {

// What each signal of a process asks for. A signal handler may call it.
class SignalRequests {
 public:
  enum class Request { interruption, the_same_again, exit };

  // One request may come twice: timeout(1) signals a process and then its group.
  static constexpr std::int64_t kSameRequestMs = 1000;

  // now_ms: of a steady clock, above 0.
  Request at(std::int64_t now_ms);

 private:
  std::atomic<std::int64_t> first_ms_ = 0;  // when the first signal came; 0: none has
  static_assert(std::atomic<std::int64_t>::is_always_lock_free, "a signal handler writes it");
};

// From here on the three signals request an interruption instead of ending the process; SIGHUP
// stays ignored where it is, as under nohup. A write that waits for a reader goes on after the
// first of them. A second one, more than a second later, ends the process with kExitInterrupted.
Interruption watch_for_signals();

// From here on the end of the last reader of standard output, where this is a pipe, requests the
// same, but not under nohup: whoever started the program has ended, and may have been the only one
// who knew of the work.
void watch_for_reader();

// Whether one of these has come since.
bool has_been_interrupted();

// Ends the program by SIGPIPE, as a write would, where that reader has gone; returns where the
// parent process ignores the signal.
void end_without_reader();

}  // namespace gemm_tune
