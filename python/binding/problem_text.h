// SPDX-License-Identifier: Apache-2.0
// The problem of a call, as gemm-tune writes it. No Python, no CUDA; pure; any thread.
#pragma once

#include <string>

#include "dispatch/include/gemm_tune/gemm_tune.h"

namespace gemm_tune {

// With the alignment of the call's matrices, as the library looks it up; of a column-major product
// the row-major one that it is. Throws UsageError where a type, a transposition or the order is no
// value of gemm_tune.h.
std::string problem_text(const gt_gemm_call& call);

}  // namespace gemm_tune
