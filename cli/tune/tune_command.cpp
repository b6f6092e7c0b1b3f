// SPDX-License-Identifier: Apache-2.0
// gemm-tune [tune]: runs the search that the command line asks for, and reports its results.
#include <spdlog/fmt/fmt.h>

#include <cstdio>

#include "cli/arguments/database.h"
#include "cli/arguments/target.h"
#include "cli/commands.h"
#include "cli/output/exit_code.h"
#include "cli/output/signals.h"
#include "cli/output/standard_output.h"
#include "cli/tune/dry_run.h"
#include "cli/tune/request.h"
#include "cli/tune/tune_output.h"
#include "core/error.h"
#include "tuner/agents/one_machine.h"
#include "tuner/job/log.h"
#include "tuner/report/progress.h"

namespace gemm_tune {
namespace {

int run_tune(const TuneOptions& options, const Call& call) {
  log_to_standard_error(options.verbose);
  // Malformed sizes are refused before a driver is started, which takes seconds.
  WeightedProblems problems = problems_to_tune(options);
  const Target target = resolve_target(options);
  TuneRequest request = tune_request(options, target, std::move(problems));
  if (options.dry_run) return dry_run(request, target, options);
  choose_kernel_cache(options, request);
  Database database = open_for_writing(options);
  if (const std::string why = database.journal().why; !why.empty() && !options.quiet) {
    log_warning(fmt::format("{} keeps a rollback journal: {}; processes that share it wait longer",
                            database.path().string(), why));
  }
  begin_run(database, request, target, call.command_line);
  request.interruption = watch_for_signals();
  watch_for_reader();
  TuneReport report;
  {
    // Log lines about candidates would break into the progress line.
    ProgressPrinter printer(options.quiet || options.verbose, request.time_limit);
    const auto print_result = [&](const ProblemReport& problem) {
      printer.clear();
      print_problem(problem, target, options);
    };
    report = tune(
        request, database, [&](const Progress& progress) { printer.show(progress); },
        options.json ? nullptr : OnFinished(print_result));
  }
  print_end(std::vector{DeviceReport{target, report}}, options, call, database);
  return exit_code(report);
}

}  // namespace

void add_tune(CLI::App& app, Call& call) { attach<TuneOptions>(app, call, run_tune); }

}  // namespace gemm_tune
