// SPDX-License-Identifier: Apache-2.0
// The running program as the worker of tuner/work/worker.h: its main() must hand kWorkerArgument's
// command lines to run_worker().
#pragma once

#include <filesystem>
#include <system_error>

#include "core/files/own_binary.h"
#include "kernel_templates/registry/user_families.h"
#include "tuner/work/worker.h"

namespace gemm_tune {

// The very file that runs, with /proc also where another has taken its place since; with the
// families that users have brought.
inline WorkerCommand own_worker() {
  std::error_code unreadable;
  const bool has_link = std::filesystem::exists(kProgramLink, unreadable);
  WorkerCommand command = {has_link ? kProgramLink : own_program().value_or(kProgramLink).string(),
                           kWorkerArgument};
  for (const FamilyFile& file : loaded_families()) {
    command.insert(command.end(), {file.path, file.hash});
  }
  return command;
}

}  // namespace gemm_tune
