// SPDX-License-Identifier: Apache-2.0
// Ctrl-C and SIGTERM as a flag that long work asks between steps; waiting in poll() ends early.
#pragma once

namespace gemm_tune {

// From here on the two signals set the flag instead of ending the process.
void watch_for_interrupts();

bool interrupted();

}  // namespace gemm_tune
