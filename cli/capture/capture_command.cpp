// SPDX-License-Identifier: Apache-2.0
// gemm-tune capture: runs a program, or reads a log of one, and lists the problems that it
// multiplied for --from-capture.
#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <cstdio>
#include <map>
#include <optional>

#include "cli/capture/call_log.h"
#include "cli/capture/called_problems.h"
#include "cli/capture/under_drop_in.h"
#include "cli/commands.h"
#include "cli/output/exit_code.h"
#include "cli/output/output_file.h"
#include "core/error.h"
#include "core/files/input_file.h"
#include "core/text/printable.h"
#include "tuner/process/scratch_dir.h"
#include "tuner/report/report.h"

namespace gemm_tune {
namespace {

struct CaptureOptions : DropInOptions {
  std::string output;
  std::string log;  // empty: a program is run

  void declare(CLI::App& app) {
    app.add_option("-o,--output", output, "File to write, for --from-capture")->required();
    app.add_option("--log", log,
                   "Run no program: read cuBLAS's log (CUBLAS_LOGINFO_DBG=1, "
                   "CUBLAS_LOGDEST_DBG=FILE), cublasLt's (CUBLASLT_LOG_LEVEL=2, "
                   "CUBLASLT_LOG_FILE=FILE) or PyTorch's tunableop_*.csv");
    add_drop_in_options(app, *this);
    app.get_option("--audit")->excludes("--log");
  }
};

struct Wanted {
  std::int64_t calls = 0;
  double flops = 0, cost = 0;    // of all calls
  std::optional<double> gpu_us;  // of all calls, where measured
  std::string text;
};

// The problems that are served or would be once they are tuned, the costliest first.
std::vector<Wanted> wanted_problems(const CalledProblems& called) {
  std::map<std::string, Wanted> by_text;
  const std::vector<double> costs = costs_of_calls(called.problems);
  for (std::size_t i = 0; i < costs.size(); ++i) {
    const CalledProblem& problem = called.problems[i];
    const std::int64_t calls = problem.served + problem.tunable;
    if (!problem.problem || calls == 0) continue;
    Wanted& wanted = by_text[problem.text];
    wanted.text = problem.text;
    wanted.calls += calls;
    wanted.flops += problem.flops * static_cast<double>(calls);
    wanted.cost += costs[i] * static_cast<double>(calls);
    if (problem.gpu_us)
      wanted.gpu_us = wanted.gpu_us.value_or(0) + *problem.gpu_us * static_cast<double>(calls);
  }
  std::vector<Wanted> all;
  for (auto& [text, wanted] : by_text) all.push_back(std::move(wanted));
  std::stable_sort(all.begin(), all.end(),
                   [](const Wanted& a, const Wanted& b) { return a.cost > b.cost; });
  return all;
}

// As a file of sizes.
std::string list_text(const std::vector<Wanted>& wanted, const Call& call) {
  double all_flops = 0;
  for (const Wanted& problem : wanted) all_flops += problem.flops;
  std::string text = "# " + call.command_line + "\n";
  for (const Wanted& problem : wanted) {
    text += fmt::format("{}  # {}, {:.1f} % of the operations", problem.text,
                        counted(problem.calls, "call"), 100 * problem.flops / all_flops);
    if (problem.gpu_us) text += ", " + duration_text(*problem.gpu_us) + " of GPU time";
    text += "\n";
  }
  return text;
}

void write_list(const std::vector<Wanted>& wanted, const CaptureOptions& options,
                const Call& call) {
  write_output(options.output, list_text(wanted, call));
  if (options.quiet) return;
  std::fputs(
      fmt::format("gemm-tune: {} in {}\n", counted(std::size(wanted), "problem"), options.output)
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
  if (options.log.empty() && application.empty()) {
    throw UsageError(
        "name the program behind --, as in gemm-tune capture -o calls.txt -- python3 train.py");
  }
  if (!options.log.empty() && !application.empty()) {
    throw UsageError("--log runs no program: leave out '" + excerpt(application[0]) +
                     "', or --log");
  }
  require_writable(options.output, {options.log, options.db});
  if (!options.log.empty()) return capture_from_log(options, call);
  const ScratchDir scratch("gemm-tune-capture");
  const std::filesystem::path report = scratch.path() / "report.jsonl";
  const int exit_code = run_under_drop_in(application, options, report);
  const std::vector<Wanted> wanted = wanted_problems(read_called_problems(report));
  if (wanted.empty()) {
    throw NothingFound("the program made no call of cuBLAS that could be served: " +
                       excerpt(application[0]) + " exited with " + std::to_string(exit_code) +
                       (options.audit ? "" : "; if it finds cuBLAS by dlsym(), try --audit"));
  }
  write_list(wanted, options, call);
  return exit_code;
}

}  // namespace

void add_capture(CLI::App& app, Call& call) { attach<CaptureOptions>(app, call, run_capture); }

}  // namespace gemm_tune
