// SPDX-License-Identifier: Apache-2.0
// Turns the command line into tune()'s request; shared by all commands that try configs.
#pragma once

#include <string>
#include <vector>

#include "tuner/app/options.h"
#include "tuner/app/target.h"
#include "tuner/job/tune.h"

namespace gemm_tune {

// The problems that --sizes, --layout and --batch name. Throws UsageError.
std::vector<Problem> asked_problems(const Options& options);

// A config's text as the report breaks it over lines, made whole again.
std::string without_white_space(std::string text);

// problems: of asked_problems(), which reads files and pipes. Throws UsageError naming the option
// that is malformed.
TuneRequest tune_request(const Options& options, const Target& target,
                         std::vector<Problem> problems);

// Opens the database for storing. Creates the folder of the default path.
Database open_for_writing(const Options& options);

// This machine's name; empty if the system does not report it.
std::string host_name();

// Begins the run for the request.
void begin_run(Database& database, const TuneRequest& request, const Target& target,
               const std::string& command);

}  // namespace gemm_tune
