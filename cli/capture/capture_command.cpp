// SPDX-License-Identifier: Apache-2.0
// gemm-tune capture: runs a program, or reads a log of one, and lists the problems that it
// multiplied for --from-capture.
#include <spdlog/fmt/fmt.h>

#include <cstdio>

#include "cli/arguments/values/sizes.h"
#include "cli/capture/call_log.h"
#include "cli/capture/called_problems.h"
#include "cli/capture/under_drop_in.h"
#include "cli/capture/unseen_calls.h"
#include "cli/capture/wanted_problems.h"
#include "cli/commands.h"
#include "cli/output/exit_code.h"
#include "cli/output/output_file.h"
#include "core/error.h"
#include "core/files/input_file.h"
#include "core/text/printable.h"
#include "core/text/quantity.h"
#include "tuner/process/scratch_dir.h"

namespace gemm_tune {
namespace {

struct CaptureOptions : DropInOptions {
  std::string output;
  std::string log;  // empty: a program is run

  void declare(CLI::App& app) {
    app.add_option("-o,--output", output, "File to write, for --from-capture")
        ->type_name("FILE")
        ->required();
    app.add_option("--log", log,
                   "Run no program: read cuBLAS's log (CUBLAS_LOGINFO_DBG=1, "
                   "CUBLAS_LOGDEST_DBG=FILE), cublasLt's (CUBLASLT_LOG_LEVEL=2, "
                   "CUBLASLT_LOG_FILE=FILE) or PyTorch's tunableop_*.csv")
        ->type_name("FILE");
    add_drop_in_options(app, *this);
    app.get_option("--audit")->excludes("--log");
  }
};

// Of more problems than --from-capture takes, the costliest.
void write_list(std::vector<WantedProblem> wanted, const CaptureOptions& options,
                const Call& call) {
  const std::size_t all = wanted.size();
  if (all > kMaxSizes) wanted.resize(kMaxSizes);
  write_output(options.output, capture_text(wanted, call.command_line));
  if (options.quiet) return;
  const std::string of =
      wanted.size() < all ? fmt::format(", the costliest of {}", grouped(all)) : "";
  std::fputs(fmt::format("gemm-tune: {} in {}{}\n", counted(std::size(wanted), "problem"),
                         options.output, of)
                 .c_str(),
             stderr);
}

int capture_from_log(const CaptureOptions& options, const Call& call) {
  constexpr std::size_t kMostBytes = 1'000'000'000;
  const std::string text = read_text_file(options.log, "log", kMostBytes);
  const CalledProblems called = parse_call_log(text, options.log);
  write_list(wanted_problems(called), options, call);
  if (!options.quiet && !called.left_out.empty()) {
    fmt::print(stderr, "gemm-tune: left out {}\n", left_out_text(called.left_out));
  }
  return kExitOk;
}

int run_capture(const CaptureOptions& options, const Call& call) {
  const std::vector<std::string>& application = call.application;
  if (options.log.empty()) require_drop_in(application, "capture -o calls.txt");
  if (!options.log.empty() && !application.empty()) {
    throw UsageError("--log runs no program: leave out '" + excerpt(application[0]) +
                     "', or --log");
  }
  require_writable(options.output, {options.log, options.db});
  if (!options.log.empty()) return capture_from_log(options, call);
  const ScratchDir scratch("gemm-tune-capture");
  const std::filesystem::path report = scratch.path() / "report.jsonl";
  const int exit_code = run_under_drop_in(application, options, report).exit_code;
  const std::vector<WantedProblem> wanted = wanted_problems(read_called_problems(report));
  if (wanted.empty()) {
    return ended_without_calls(application, application[0], exit_code, options.audit);
  }
  write_list(wanted, options, call);
  return exit_code;
}

}  // namespace

void add_capture(CLI::App& app, Call& call) { attach<CaptureOptions>(app, call, run_capture); }

}  // namespace gemm_tune
