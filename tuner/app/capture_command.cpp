// SPDX-License-Identifier: Apache-2.0
// gemm-tune capture: runs a program, or reads a log of one, and lists the problems that it
// multiplied for --from-capture.
#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <cstdio>
#include <map>
#include <optional>

#include "core/error.h"
#include "core/input_file.h"
#include "core/printable.h"
#include "tuner/app/call_log.h"
#include "tuner/app/called_problems.h"
#include "tuner/app/commands.h"
#include "tuner/app/exit_code.h"
#include "tuner/app/output_file.h"
#include "tuner/app/under_drop_in.h"
#include "tuner/work/scratch_dir.h"

namespace gemm_tune {
namespace {

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
std::string list_text(const std::vector<Wanted>& wanted, const Options& options) {
  double all_flops = 0;
  for (const Wanted& problem : wanted) all_flops += problem.flops;
  std::string text = "# " + options.command_line + "\n";
  for (const Wanted& problem : wanted) {
    text += fmt::format("{}  # {} calls, {:.1f} % of the operations", problem.text, problem.calls,
                        100 * problem.flops / all_flops);
    if (problem.gpu_us) text += fmt::format(", {:.3f} ms of GPU time", *problem.gpu_us / 1000);
    text += "\n";
  }
  return text;
}

void write_list(const std::vector<Wanted>& wanted, const Options& options) {
  write_output(options.output, list_text(wanted, options));
  std::fputs(fmt::format("gemm-tune: {} problems in {}\n", wanted.size(), options.output).c_str(),
             stderr);
}

int capture_from_log(const Options& options) {
  constexpr std::size_t kMostBytes = 1'000'000'000;
  const std::string text = read_input_file(options.log, "log", kMostBytes);
  write_list(wanted_problems(parse_call_log(text, options.log)), options);
  return kExitOk;
}

}  // namespace

int run_capture(const Options& options) {
  require_writable(options.output);
  if (!options.log.empty()) return capture_from_log(options);
  const ScratchDir scratch("gemm-tune-capture");
  const std::filesystem::path report = scratch.path() / "report.jsonl";
  const int exit_code = run_under_drop_in(options, report);
  const std::vector<Wanted> wanted = wanted_problems(read_called_problems(report));
  if (wanted.empty()) {
    throw NothingFound("the program made no call of cuBLAS that could be served: " +
                       excerpt(options.application[0]) + " exited with " +
                       std::to_string(exit_code) +
                       (options.audit ? "" : "; if it finds cuBLAS by dlsym(), try --audit"));
  }
  write_list(wanted, options);
  return exit_code;
}

}  // namespace gemm_tune
