// SPDX-License-Identifier: Apache-2.0
// Threads that leave all signals to the main thread, whose waits a signal ends.
#pragma once

#include <signal.h>

namespace gemm_tune {

// While it lives, this thread and the threads that it starts have all signals blocked.
class SignalsBlocked {
 public:
  SignalsBlocked() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~SignalsBlocked() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;

 private:
  sigset_t before_;
};

}  // namespace gemm_tune
