// SPDX-License-Identifier: Apache-2.0
// gemm-tune --dry-run: prints the candidates that a run would try and its expected duration.
// Compiles nothing and creates no database.
#pragma once

#include "cli/tune/tune_options.h"
#include "tuner/plan/target.h"
#include "tuner/plan/tune_request.h"

namespace gemm_tune {

// Reads the database if it exists. Prints text or JSON; returns an exit code.
int dry_run(const TuneRequest& request, const Target& target, const TuneOptions& options);

}  // namespace gemm_tune
