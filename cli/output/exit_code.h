// SPDX-License-Identifier: Apache-2.0
// The program's exit codes; README and `gemm-tune --help` list them.
#pragma once

namespace gemm_tune {

enum ExitCode : int {
  kExitOk = 0,
  kExitInternal = 1,         // a defect of the program itself
  kExitUsage = 2,            // malformed options, sizes, configs, files; whatever CLI11 raises
  kExitNoDevice = 3,         // no usable GPU or CUDA library where one was demanded, or the system
                             // gives no process, thread, memory or file descriptor
  kExitNothingSurvived = 4,  // no candidate survived the filter, or the query found nothing
  kExitVerification = 5,     // candidates ran, but every one of them was wrong or failed
  kExitDatabase = 6,         // the database cannot be opened, read or written
  kExitOutput = 7,           // standard output or an output file could not be written whole
  kExitInterrupted = 130,    // Ctrl-C or SIGTERM; what was finished is stored
};

}  // namespace gemm_tune
