// SPDX-License-Identifier: Apache-2.0
#include "cli/tune/tuning.h"

#include <spdlog/fmt/fmt.h>

#include "cli/arguments/database.h"
#include "cli/output/signals.h"
#include "cli/tune/request.h"
#include "tuner/agents/one_machine.h"
#include "tuner/job/log.h"
#include "tuner/report/progress.h"

namespace gemm_tune {

Database open_for_tuning(const TuneOptions& options) {
  Database database = open_for_writing(options);
  if (const std::string why = database.journal().why; !why.empty() && !options.quiet) {
    log_warning(fmt::format("{} keeps a rollback journal: {}; processes that share it wait longer",
                            database.path().string(), why));
  }
  return database;
}

TuneReport tune_with_progress(TuneRequest request, const TuneOptions& options, const Target& target,
                              Database& database, const std::string& command_line,
                              const OnFinished& on_finished, const std::atomic<bool>* ended) {
  begin_run(database, request, target, command_line);
  request.interruption = watch_for_signals();
  if (ended != nullptr) request.interruption = request.interruption.also(*ended);
  // Log lines about candidates would break into the progress line.
  ProgressPrinter printer(options.quiet || options.verbose, request.time_limit);
  const auto told = [&](const ProblemReport& problem) {
    printer.clear();
    on_finished(problem);
  };
  return tune(
      request, database, [&](const Progress& progress) { printer.show(progress); },
      on_finished ? OnFinished(told) : nullptr);
}

}  // namespace gemm_tune
