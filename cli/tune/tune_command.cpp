// SPDX-License-Identifier: Apache-2.0
// gemm-tune [tune]: runs the search that the command line asks for, and reports its results.
#include <spdlog/fmt/fmt.h>
#include <unistd.h>

#include <cstdio>
#include <future>
#include <string>
#include <utility>

#include "cli/arguments/database.h"
#include "cli/arguments/target.h"
#include "cli/commands.h"
#include "cli/output/signals.h"
#include "cli/tune/dry_run.h"
#include "cli/tune/range_command.h"
#include "cli/tune/request.h"
#include "cli/tune/tune_output.h"
#include "cli/tune/tuning.h"
#include "core/error.h"
#include "core/text/printable.h"
#include "core/text/quantity.h"
#include "tuner/job/log.h"
#include "tuner/process/scratch_dir.h"
#include "tuner/report/terminal.h"

namespace gemm_tune {
namespace {

// What a person sees before the first result, on a terminal.
void tell_what_begins(const TuneRequest& request, const Target& target) {
  std::string line = fmt::format("{} on {} ({}): ", counted(request.problems.size(), "problem"),
                                 target.spec.name, target.spec.arch);
  line += target.measurable
              ? "kernels are compiled, verified and timed beside cuBLAS"
              : "kernels are compiled and ranked by prediction, for " + target.why_not;
  line += request.time_limit ? "; Ctrl-C ends it early and keeps what is found"
                             : "; --time limits it, Ctrl-C keeps what is found";
  fmt::print(stderr, "{}", fitted(printable(line), terminal_columns(STDERR_FILENO), false));
}

int run_tune(const TuneHereOptions& options, const Call& call) {
  log_to_standard_error(options.verbose);
  if (!options.m_range.empty()) return tune_ranges(options, call);
  if (!options.within.empty()) {
    throw UsageError("--within has no use without --m-range: leave it out, or name the range of M");
  }
  if (options.batch_invariant) {
    throw UsageError(
        "--batch-invariant tunes over a range of M: name it, as in --m-range 1:256 --sizes "
        "11008x4096");
  }
  // Malformed sizes are refused before a driver is started, which takes seconds.
  WeightedProblems problems = problems_to_tune(options);
  const std::future<void> opened = open_libraries(options);
  const Target target = resolve_target(options);
  TuneRequest request = tune_request(options, target, std::move(problems));
  if (options.dry_run) {
    const ScratchDir folder("gemm-tune-dry-run");
    Database database = database_to_read(database_path(options), folder);
    return dry_run(request, target, options, database);
  }
  choose_kernel_cache(options, request);
  Database database = open_for_tuning(options);
  watch_for_reader();
  const bool shows_progress = !options.quiet && !options.verbose && isatty(STDERR_FILENO) != 0;
  if (shows_progress) tell_what_begins(request, target);
  const auto print_result = [&](const ProblemReport& problem) {
    print_problem(problem, target, options);
  };
  const TuneReport report =
      tune_with_progress(std::move(request), options, target, database, call.command_line,
                         options.json ? nullptr : OnFinished(print_result));
  print_end(std::vector{DeviceReport{target, report}}, options, call, database);
  return exit_code(report);
}

}  // namespace

void add_tune(CLI::App& app, Call& call) { attach<TuneHereOptions>(app, call, run_tune); }

}  // namespace gemm_tune
