// Entry point: parse, run the command, turn failures into one sentence and an exit code.
#include <signal.h>
#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>

#include <cstdio>
#include <cstring>
#include <system_error>

#include "core/error.h"
#include "db/export_header.h"
#include "tuner/commands.h"
#include "tuner/exit_code.h"
#include "tuner/standard_output.h"
#include "tuner/worker.h"

namespace {

using namespace gemm_tune;

int run_command(const Options& options) {
  switch (options.command) {
    case Command::tune:
      return run_tune(options);
    case Command::best:
      return run_best(options);
    case Command::explain:
      return run_explain(options);
    case Command::ladder:
      return run_ladder(options);
    case Command::replay:
      return run_replay(options);
    case Command::export_winners:
      return run_export(options);
    case Command::db_info:
      return run_db_info(options);
    case Command::db_check:
      return run_db_check(options);
    case Command::db_salvage:
      return run_db_salvage(options);
  }
  return kExitInternal;
}

int run(const ParsedOptions& parsed) {
  int code = kExitOk;
  if (parsed.exit_code) {  // --help, --version
    std::fputs(parsed.message.c_str(), stdout);
  } else {
    code = run_command(parsed.options);
  }
  close_standard_output();
  return code;
}

int fail(const std::exception& error, int code) {
  std::fprintf(stderr, "gemm-tune: %s\n", error.what());
  return code;
}

}  // namespace

int main(int argc, char** argv) {
  occupy_standard_streams();
  if (argc > 1 && std::strcmp(argv[1], kWorkerArgument) == 0) {
    try {
      return run_worker({argv + 2, argv + argc});
    } catch (const std::exception& error) {
      return fail(error, kExitUsage);
    }
  }
  const ParsedOptions parsed = parse_options(argc, argv);
  if (parsed.exit_code && *parsed.exit_code != kExitOk) {
    std::fprintf(stderr, "gemm-tune: %s\n", parsed.message.c_str());
    return *parsed.exit_code;
  }
  signal(SIGXFSZ, SIG_IGN);  // a limit on file sizes is a failing write like any other
  spdlog::set_default_logger(spdlog::stderr_color_st("gemm-tune"));
  spdlog::set_pattern("%n: %v");
  spdlog::set_level(parsed.options.verbose ? spdlog::level::debug : spdlog::level::warn);
  try {
    return run(parsed);
  } catch (const UsageError& error) {
    return fail(error, kExitUsage);
  } catch (const DeviceError& error) {
    return fail(error, kExitNoDevice);
  } catch (const NothingFound& error) {
    return fail(error, kExitNothingSurvived);
  } catch (const DatabaseError& error) {
    return fail(error, kExitDatabase);
  } catch (const OutputError& error) {
    return fail(error, kExitOutput);
  } catch (const std::system_error& error) {
    if (std::ferror(stdout) == 0) return fail(error, kExitInternal);
    return fail(standard_output_error(error.code()), kExitOutput);  // of fmt::print()
  } catch (const std::exception& error) {
    return fail(error, kExitInternal);
  }
}
