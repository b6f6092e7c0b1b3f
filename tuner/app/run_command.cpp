// SPDX-License-Identifier: Apache-2.0
// gemm-tune run: a program whose calls of cuBLAS are served by the winners, and a report at its
// end.
//
// The report goes to stderr: standard output is the program's.
#include <cstdio>

#include "core/printable.h"
#include "tuner/app/called_problems.h"
#include "tuner/app/commands.h"
#include "tuner/app/output_file.h"
#include "tuner/app/run_report.h"
#include "tuner/app/under_drop_in.h"
#include "tuner/work/scratch_dir.h"

namespace gemm_tune {
int run_application(const Options& options) {
  if (!options.report.empty()) require_writable(options.report);
  const ScratchDir scratch("gemm-tune-run");
  const std::filesystem::path report = scratch.path() / "report.jsonl";
  const int exit_code = run_under_drop_in(options, report);
  const CalledProblems called = read_called_problems(report);
  if (!options.report.empty()) write_output(options.report, called.text);
  if (!options.quiet)
    std::fputs(printable_lines(run_report(called, options.audit)).c_str(), stderr);
  return exit_code;
}

}  // namespace gemm_tune
