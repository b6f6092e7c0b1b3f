// SPDX-License-Identifier: Apache-2.0
// The output of a run, for gemm-tune's command tune and gemm-tune-mpi.
#pragma once

#include <span>

#include "cli/arguments/command_line.h"
#include "cli/tune/tune_options.h"
#include "db/database.h"
#include "tuner/job/tune.h"
#include "tuner/plan/target.h"
#include "tuner/range/range_tuning.h"

namespace gemm_tune {

// A run's results on the GPUs of one model.
struct DeviceReport {
  Target target;
  TuneReport report;
};

// One problem's result. Printed at once, so that a user who stops the run early has it.
void print_problem(const ProblemReport& problem, const Target& target, const TuneOptions& options);

// What follows the problems' results. ranges: of --m-range.
void print_end(std::span<const DeviceReport> reports, const TuneOptions& options, const Call& call,
               Database& database, std::span<const RangeReport> ranges = {});

int exit_code(const TuneReport& report);

}  // namespace gemm_tune
