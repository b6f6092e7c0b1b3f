// SPDX-License-Identifier: Apache-2.0
// A search on this machine as a command does it: into the user's database, with progress on stderr,
// until it ends or a signal ends it. For the commands tune and speed-up.
#pragma once

#include <atomic>

#include "cli/tune/tune_options.h"
#include "db/database.h"
#include "tuner/job/tune.h"
#include "tuner/plan/target.h"
#include "tuner/plan/tune_request.h"

namespace gemm_tune {

// Opens the database for storing; warns of a journal that makes processes wait, unless quiet.
Database open_for_tuning(const TuneOptions& options);

// Begins a run for the request and tunes. on_finished may be empty; progress is out of its way when
// it is called. command_line: is stored with the run. From here on signals request an interruption
// (cli/output/signals.h), and so does `ended` once it is true. Throws as tune() does.
TuneReport tune_with_progress(TuneRequest request, const TuneOptions& options, const Target& target,
                              Database& database, const std::string& command_line,
                              const OnFinished& on_finished,
                              const std::atomic<bool>* ended = nullptr);

}  // namespace gemm_tune
