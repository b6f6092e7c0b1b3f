// SPDX-License-Identifier: Apache-2.0
// Turns the options into tune()'s request; for all commands that try configs.
#pragma once

#include <cstddef>
#include <future>
#include <string>
#include <vector>

#include "cli/tune/tune_options.h"
#include "db/database.h"
#include "tuner/plan/target.h"
#include "tuner/plan/tune_request.h"

namespace gemm_tune {

// One compile process per core, but one core less for each GPU: a measuring worker that had to wait
// for a core would measure the wait.
std::size_t default_jobs(const Target& target);

// Opens the libraries that tune_request() asks for their versions, in a thread beside: cublasLt
// takes tenths of a second, in which the driver wakes. Whoever needs a library that is missing says
// so.
std::future<void> open_libraries(const TuneOptions& options);

// A request of default rules. Throws UsageError naming the option that is malformed, and
// DeviceError where it compiles and there is no NVRTC.
TuneRequest search_request(const SearchOptions& search, const std::string& kernel_dir,
                           const Target& target, std::vector<Problem> problems,
                           bool compiles = true);

// problems: of problems_to_tune(), which reads files and pipes. Throws as search_request() does.
TuneRequest tune_request(const TuneOptions& options, const Target& target,
                         WeightedProblems problems);

// Chooses the folder that the user named, or throws, before anything is stored; else the default
// one, whose failure costs the library a compilation and no run its results.
void choose_kernel_cache(const TuneOptions& options, TuneRequest& request);

// This machine's name; empty if the system does not report it.
std::string host_name();

// Begins the run for the request.
void begin_run(Database& database, const TuneRequest& request, const Target& target,
               const std::string& command_line);

}  // namespace gemm_tune
