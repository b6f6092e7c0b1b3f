// SPDX-License-Identifier: Apache-2.0
// The program's commands: each takes the parsed options and returns an exit code.
//
// Results go to stdout, progress and notes to stderr. A failure is an exception; main.cpp maps it
// to an exit code.
#pragma once

#include "tuner/app/options.h"

namespace gemm_tune {

int run_tune(const Options& options);
int run_best(const Options& options);
int run_bench(const Options& options);
int run_explain(const Options& options);
int run_ladder(const Options& options);
int run_replay(const Options& options);
int run_export(const Options& options);
int run_report(const Options& options);
int run_db_info(const Options& options);
int run_db_check(const Options& options);
int run_db_salvage(const Options& options);
int run_db_rekey(const Options& options);
int run_db_merge(const Options& options);
int run_db_diff(const Options& options);
int run_db_prune(const Options& options);
int run_db_import(const Options& options);
int run_db_contribute(const Options& options);
int run_application(const Options& options);
int run_capture(const Options& options);

}  // namespace gemm_tune
