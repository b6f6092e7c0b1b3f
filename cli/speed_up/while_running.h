// SPDX-License-Identifier: Apache-2.0
// gemm-tune speed-up --while-running: tunes what a program multiplies that runs under the drop-in,
// which takes each winner from the database as the program goes on.
#pragma once

#include "cli/arguments/command_line.h"
#include "cli/speed_up/speed_up_options.h"

namespace gemm_tune {

// Until the program ends, the time is over or a signal comes. Returns the exit code. Throws
// UsageError where the process is none of such a program, and NothingFound where it has multiplied
// nothing that could be served.
int speed_up_while_running(const SpeedUpOptions& options, const Call& call);

}  // namespace gemm_tune
