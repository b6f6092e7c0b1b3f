// SPDX-License-Identifier: Apache-2.0
// Logs of a program's products that others write, for `capture` without a drop-in: cuBLAS's
// (CUBLAS_LOGINFO_DBG=1, CUBLAS_LOGDEST_DBG=FILE), cublasLt's (CUBLASLT_LOG_LEVEL=2,
// CUBLASLT_LOG_FILE=FILE) and PyTorch's tunableop_untuned*.csv and tunableop_results*.csv, which
// name each product once.
//
// Pure; any thread.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "cli/capture/called_problems.h"

namespace gemm_tune {

// Products that no kernel is for are counted in left_out; lines of other kinds are passed over.
// name: of the file, for the message. Throws UsageError where the text holds no product of any log.
CalledProblems parse_call_log(const std::string& text, const std::string& name);

// "14 calls that gemm-tune has no kernels for: 12 of cublasDgemm, 2 of cublasGemmEx of ...".
std::string left_out_text(const std::map<std::string, std::int64_t>& left_out);

}  // namespace gemm_tune
