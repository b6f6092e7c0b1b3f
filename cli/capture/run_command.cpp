// SPDX-License-Identifier: Apache-2.0
// gemm-tune run: a program whose calls of cuBLAS are served by the winners, and a report at its
// end.
//
// The report goes to stderr: standard output is the program's.
#include <cstdio>

#include "cli/capture/called_problems.h"
#include "cli/capture/run_report.h"
#include "cli/capture/under_drop_in.h"
#include "cli/capture/unseen_calls.h"
#include "cli/commands.h"
#include "cli/output/output_file.h"
#include "core/text/printable.h"
#include "tuner/process/scratch_dir.h"

namespace gemm_tune {
namespace {

struct RunOptions : DropInOptions {
  std::string report;  // empty: none is kept

  void declare(CLI::App& app) {
    add_drop_in_options(app, *this);
    app.add_option("--report", report, "File for the report: lines of JSON")->type_name("FILE");
  }
};

int run_application(const RunOptions& options, const Call& call) {
  require_drop_in(call.application, "run");
  if (!options.report.empty()) require_writable(options.report, {options.db});
  const ScratchDir scratch("gemm-tune-run");
  const std::filesystem::path report = scratch.path() / "report.jsonl";
  const int exit_code = run_under_drop_in(call.application, options, report).exit_code;
  const CalledProblems called = read_called_problems(report);
  if (!options.report.empty()) write_output(options.report, called.text);
  if (!options.quiet) {
    const std::string text = run_report(called, why_unseen(call.application, options.audit));
    std::fputs(printable_lines(text).c_str(), stderr);
  }
  return exit_code;
}

}  // namespace

void add_run(CLI::App& app, Call& call) { attach<RunOptions>(app, call, run_application); }

}  // namespace gemm_tune
