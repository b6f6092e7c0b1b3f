// SPDX-License-Identifier: Apache-2.0
// Runs another program under the drop-in, libgemm_tune_blas.so.
//
// One thread.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "cli/arguments/shared_options.h"

namespace gemm_tune {

// A program and its arguments, and what it runs with.
struct DropInOptions : DatabaseOptions {
  bool audit = false;  // with the audit module, too
};

void add_drop_in_options(CLI::App& app, DropInOptions& o);

// How a program ended that ran.
struct ApplicationEnd {
  int exit_code = 0;           // 128 and the signal's number where one ended it
  double seconds = 0;          // from its start to its end
  bool was_signalled = false;  // this process got one of the signals below meanwhile
};

// Runs the application with the drop-in preloaded, the database of the options, and `report` as the
// file for the drop-in's report, in a folder of its own: processes that are killed leave their
// counts there, which are added to it. The program gets SIGINT, SIGQUIT, SIGTERM and SIGHUP that
// are sent to this one, which waits for it. Throws UsageError where the program cannot be started
// or the drop-in is missing.
ApplicationEnd run_under_drop_in(const std::vector<std::string>& application,
                                 const DropInOptions& options, const std::filesystem::path& report);

// Adds the counts of the processes that have left theirs in the folder, or go on counting there, to
// the file `report`. Throws UsageError where the drop-in is missing, or another version's counts.
void add_counts(const std::filesystem::path& folder, const std::filesystem::path& report);

// What the environment's GEMM_TUNE_BLAS_ACCURACY says; nothing where it is not set.
std::optional<std::string> asked_accuracy();

// Throws UsageError where the drop-in is missing, nobody has named a program behind "--", this
// process itself runs under such a command, or asked_accuracy() is no class of fp32 products.
// command: that needs them, as in "run".
void require_drop_in(const std::vector<std::string>& application, const std::string& command);

}  // namespace gemm_tune
