// SPDX-License-Identifier: Apache-2.0
// Runs another program under the drop-in, libgemm_tune_blas.so.
//
// One thread.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "cli/arguments/shared_options.h"

namespace gemm_tune {

// A program and its arguments, and what it runs with.
struct DropInOptions : DatabaseOptions {
  bool audit = false;  // with the audit module, too
};

void add_drop_in_options(CLI::App& app, DropInOptions& o);

// Runs the application with the drop-in preloaded, the database of the options, and `report` as the
// file for the drop-in's report, in a folder of its own: processes that are killed leave their
// counts there, which are added to it. Returns the
// program's exit code; 128 and the signal's number where one ended it. The program gets SIGINT,
// SIGQUIT, SIGTERM and SIGHUP that are sent to this one, which waits for it. Throws UsageError
// where the program cannot be started or the drop-in is missing.
int run_under_drop_in(const std::vector<std::string>& application, const DropInOptions& options,
                      const std::filesystem::path& report);

}  // namespace gemm_tune
