// SPDX-License-Identifier: Apache-2.0
// Logs of a program's products that others write, for `capture` without a drop-in: cuBLAS's
// (CUBLAS_LOGINFO_DBG=1, CUBLAS_LOGDEST_DBG=FILE) and PyTorch's tunableop_untuned*.csv, which names
// each product once.
//
// Pure; any thread.
#pragma once

#include <string>

#include "tuner/app/called_problems.h"

namespace gemm_tune {

// Calls of other functions, and lines of other kinds, are left out. name: of the file, for the
// message. Throws UsageError where the text holds no product of either log.
CalledProblems parse_call_log(const std::string& text, const std::string& name);

}  // namespace gemm_tune
