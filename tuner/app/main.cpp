// SPDX-License-Identifier: Apache-2.0
// Entry point: parses the command line and runs the command.
#include <signal.h>
#include <spdlog/fmt/fmt.h>

#include <cstdio>
#include <cstring>

#include "gpu/cuda_folders.h"
#include "tuner/app/commands.h"
#include "tuner/app/exit_code.h"
#include "tuner/app/failure.h"
#include "tuner/app/signals.h"
#include "tuner/app/standard_output.h"
#include "tuner/job/log.h"
#include "tuner/work/worker.h"

namespace {

using namespace gemm_tune;

int run_command(const Options& options) {
  switch (options.command) {
    case Command::tune:
      return run_tune(options);
    case Command::best:
      return run_best(options);
    case Command::bench:
      return run_bench(options);
    case Command::explain:
      return run_explain(options);
    case Command::ladder:
      return run_ladder(options);
    case Command::replay:
      return run_replay(options);
    case Command::export_winners:
      return run_export(options);
    case Command::report:
      return run_report(options);
    case Command::db_info:
      return run_db_info(options);
    case Command::db_check:
      return run_db_check(options);
    case Command::db_salvage:
      return run_db_salvage(options);
    case Command::db_rekey:
      return run_db_rekey(options);
    case Command::db_merge:
      return run_db_merge(options);
    case Command::db_diff:
      return run_db_diff(options);
    case Command::db_prune:
      return run_db_prune(options);
    case Command::db_import:
      return run_db_import(options);
    case Command::db_contribute:
      return run_db_contribute(options);
    case Command::run:
      return run_application(options);
    case Command::capture:
      return run_capture(options);
  }
  return kExitInternal;
}

int run(const ParsedOptions& parsed) {
  int code = kExitOk;
  if (parsed.exit_code) {              // --help, --version
    fmt::print("{}", parsed.message);  // throws what the stream would forget: why it failed
  } else {
    code = run_command(parsed.options);
  }
  close_standard_output();
  return has_been_interrupted() ? kExitInterrupted : code;
}

}  // namespace

int main(int argc, char** argv) {
  occupy_standard_streams();
  look_for_cuda_in_environment();
  if (argc > 1 && std::strcmp(argv[1], kWorkerArgument) == 0) {
    try {
      return run_worker({argv + 2, argv + argc});
    } catch (const std::exception& error) {
      return tell_failure(error.what(), kExitUsage);
    }
  }
  const ParsedOptions parsed = parse_options(argc, argv);
  if (parsed.exit_code && *parsed.exit_code != kExitOk) {
    return tell_failure(parsed.message, *parsed.exit_code);
  }
  signal(SIGXFSZ, SIG_IGN);  // a write beyond the file size limit then fails without a signal
  log_to_standard_error(parsed.options.verbose);
  return with_failures_told([&] { return run(parsed); });
}
