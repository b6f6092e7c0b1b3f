// SPDX-License-Identifier: Apache-2.0
// Writes in a program of others, which no signal of a write of ours may end.
#pragma once

#include <signal.h>
#include <time.h>

#include <initializer_list>

namespace gemm_tune {

// As long as this lives, a write of this thread that goes beyond the limit on file sizes, or into a
// pipe that nobody reads, fails without a signal. Signals of the program's own that wait already
// stay.
class WriteSignalsHeld {
 public:
  WriteSignalsHeld() {
    sigset_t waiting;
    sigpending(&waiting);
    sigemptyset(&held_);
    for (const int signal : {SIGPIPE, SIGXFSZ}) {
      if (sigismember(&waiting, signal) == 0) sigaddset(&held_, signal);
    }
    pthread_sigmask(SIG_BLOCK, &held_, &before_);
  }
  ~WriteSignalsHeld() {
    const timespec none{};
    while (sigtimedwait(&held_, nullptr, &none) > 0) {
    }
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  WriteSignalsHeld(const WriteSignalsHeld&) = delete;
  WriteSignalsHeld& operator=(const WriteSignalsHeld&) = delete;

 private:
  sigset_t held_, before_;
};

}  // namespace gemm_tune
