// SPDX-License-Identifier: Apache-2.0
// gemm-tune --dry-run: what a run would try and how long that would take; nothing is compiled and
// no database is made.
#pragma once

#include "tuner/app/options.h"
#include "tuner/app/target.h"
#include "tuner/job/tune_request.h"

namespace gemm_tune {

// Reads the database where there is one. Prints text or JSON; returns an exit code.
int dry_run(const TuneRequest& request, const Target& target, const Options& options);

}  // namespace gemm_tune
