// SPDX-License-Identifier: Apache-2.0
// Ctrl-C, SIGTERM and the end of the terminal as a request to end early.
#pragma once

#include "tuner/work/interruption.h"

namespace gemm_tune {

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

}  // namespace gemm_tune
