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
// database expects. why_unseen: of a program without a call (unseen_calls.h). shown: how many
// problems are named for each reason why calls were left to cuBLAS.
std::string run_report(const CalledProblems& called, const std::string& why_unseen,
                       std::size_t shown = 20);

}  // namespace gemm_tune
