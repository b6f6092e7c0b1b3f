// SPDX-License-Identifier: Apache-2.0
// Signals as programs that a terminal starts have them.
#pragma once

#include <signal.h>

#include <initializer_list>

namespace gemm_tune {

// Of this process and those that it starts. nohup(1) and a script that starts a command in the
// background have it ignore some.
inline void use_default_signals() {
  for (const int number : {SIGHUP, SIGINT, SIGQUIT, SIGTERM}) signal(number, SIG_DFL);
}

}  // namespace gemm_tune
