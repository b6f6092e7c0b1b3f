// SPDX-License-Identifier: Apache-2.0
// Ctrl-C, SIGTERM and the end of the terminal as a request to end early.
#pragma once

#include "tuner/work/interruption.h"

namespace gemm_tune {

// From here on the three signals request an interruption instead of ending the process; SIGHUP
// stays ignored where it is, as under nohup.
Interruption watch_for_signals();

}  // namespace gemm_tune
