// SPDX-License-Identifier: Apache-2.0
// The program's commands. What each runs prints results to stdout, progress and notes to stderr,
// and throws where it fails (output/failure.h maps exceptions to exit codes).
#pragma once

#include "cli/arguments/command_line.h"

namespace gemm_tune {

AddCommand add_tune;  // also as the program's default
AddCommand add_best, add_explain, add_ladder, add_bench, add_export, add_report, add_db, add_run,
    add_capture, add_speed_up, add_man, add_completion;

}  // namespace gemm_tune
