// SPDX-License-Identifier: Apache-2.0
// From the command line to what tune() takes; shared by the commands that try configs.
#pragma once

#include <string>
#include <vector>

#include "tuner/app/options.h"
#include "tuner/app/target.h"
#include "tuner/job/tune.h"

namespace gemm_tune {

// The problems of --sizes, --layout and --batch. Throws UsageError.
std::vector<Problem> asked_problems(const Options& options);

// Throws UsageError naming the option that is missing or malformed.
TuneRequest tune_request(const Options& options, const Target& target);

// The database to store into; the default place's folder is made.
Database open_for_writing(const Options& options);

// This machine's name; empty where the system does not tell.
std::string host_name();

// Begins the run that the request is about.
void begin_run(Database& database, const TuneRequest& request, const Target& target,
               const std::string& command);

}  // namespace gemm_tune
