// SPDX-License-Identifier: Apache-2.0
// Ctrl-C, SIGTERM and the end of the terminal as a flag that long work asks between steps; waiting
// in poll() ends early.
#pragma once

#include <signal.h>

namespace gemm_tune {

// From here on the three signals set the flag instead of ending the process; SIGHUP stays ignored
// where it is, as under nohup.
void watch_for_interrupts();

bool interrupted();

// While it lives, threads are started with all signals blocked: they are the main thread's, whose
// wait they end.
class SignalsBlocked {
 public:
  SignalsBlocked();
  ~SignalsBlocked();
  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;

 private:
  sigset_t before_;
};

}  // namespace gemm_tune
