// SPDX-License-Identifier: Apache-2.0
// The problem of a call, as gemm-tune writes and reads it. No Python, no CUDA; pure; any thread.
#pragma once

#include <string>

#include "dispatch/include/gemm_tune/gemm_tune.h"

namespace gemm_tune {

// With the alignment of the call's matrices, as the library looks it up; of a column-major product
// the row-major one that it is. Throws UsageError where gt_lookup refuses the call.
std::string problem_text(const gt_gemm_call& call);

// The inverse: a call for gt_lookup, whose matrices have the text's alignments and no memory.
// Throws UsageError naming the text.
gt_gemm_call call_of(const std::string& problem_text);

}  // namespace gemm_tune
