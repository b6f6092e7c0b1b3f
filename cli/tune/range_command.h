// SPDX-License-Identifier: Apache-2.0
// gemm-tune --m-range: tunes each (N, K) of --sizes over a range of M, and prints the fewest
// configs that serve it.
#pragma once

#include "cli/arguments/command_line.h"
#include "cli/tune/tune_options.h"

namespace gemm_tune {

// Throws UsageError for options that have no meaning beside --m-range. Returns an exit code.
int tune_ranges(const TuneHereOptions& options, const Call& call);

}  // namespace gemm_tune
