// SPDX-License-Identifier: Apache-2.0
// gemm-tune --dry-run: prints the candidates that a run would try and its expected duration.
// Compiles nothing and creates no database.
#pragma once

#include "tuner/app/options.h"
#include "tuner/app/target.h"
#include "tuner/job/tune_request.h"

namespace gemm_tune {

// Reads the database if it exists. Prints text or JSON; returns an exit code.
int dry_run(const TuneRequest& request, const Target& target, const Options& options);

}  // namespace gemm_tune
