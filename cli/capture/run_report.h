// SPDX-License-Identifier: Apache-2.0
// The text at the end of `gemm-tune run`: what was served, what it gained, and why the rest was
// not.
//
// Pure; any thread.
#pragma once

#include <string>

#include "cli/capture/called_problems.h"

namespace gemm_tune {

// Shares are of the operations, and of the GPU time where some was measured. The gain is what the
// database expects. audit: whether the program ran under the audit module. shown: how many problems
// are named for each reason why calls were left to cuBLAS.
std::string run_report(const CalledProblems& called, bool audit, std::size_t shown = 20);

}  // namespace gemm_tune
