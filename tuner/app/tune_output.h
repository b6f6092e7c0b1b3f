// SPDX-License-Identifier: Apache-2.0
// Parts of gemm-tune's tune command that gemm-tune-mpi shares: the machine's defaults, and the
// output of a run.
#pragma once

#include <cstddef>
#include <span>

#include "db/database.h"
#include "tuner/app/options.h"
#include "tuner/app/target.h"
#include "tuner/job/tune.h"

namespace gemm_tune {

// A run's results on the GPUs of one model.
struct DeviceReport {
  Target target;
  TuneReport report;
};

// One compile process per core, but one core less for each GPU: a measuring worker that had to wait
// for a core would measure the wait.
std::size_t default_jobs(const Target& target);

// The folder that the user named, or it throws, before anything is stored; else the default one,
// whose failure costs the library a compilation and no run its results.
void choose_kernel_cache(const Options& options, TuneRequest& request);

// One problem's result. Printed at once, so that a user who stops the run early has it.
void print_problem(const ProblemReport& problem, const Target& target, const Options& options);

// What follows the problems' results.
void print_end(std::span<const DeviceReport> reports, const Options& options, Database& database);

int exit_code(const TuneReport& report);

}  // namespace gemm_tune
