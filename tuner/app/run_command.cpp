// SPDX-License-Identifier: Apache-2.0
// gemm-tune run: a program whose calls of cuBLAS are served by the winners, and a report at its
// end.
//
// The report goes to stderr: standard output is the program's.
#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <cstdio>

#include "core/printable.h"
#include "tuner/app/called_problems.h"
#include "tuner/app/commands.h"
#include "tuner/app/output_file.h"
#include "tuner/app/under_drop_in.h"
#include "tuner/work/scratch_dir.h"

namespace gemm_tune {
namespace {

double percent(double part, double whole) { return whole > 0 ? 100 * part / whole : 0; }

struct Declined {
  std::int64_t calls = 0;
  std::vector<std::pair<std::int64_t, std::string>> problems;
};

std::string declined_text(const std::string& reason, Declined declined) {
  constexpr std::size_t kShown = 3;
  std::sort(declined.problems.rbegin(), declined.problems.rend());
  std::string text = fmt::format("  left to cuBLAS {}: {}:", declined.calls, reason);
  for (std::size_t i = 0; i < std::min(kShown, declined.problems.size()); ++i) {
    text += (i == 0 ? " " : ", ") + declined.problems[i].second;
  }
  return text + (declined.problems.size() > kShown ? ", ...\n" : "\n");
}

std::string report_text(const CalledProblems& called, bool audit) {
  if (called.problems.empty()) {
    return std::string("gemm-tune: no call of cuBLAS was seen") +
           (audit ? "\n" : "; --audit sees also those of a program that finds cuBLAS by dlsym()\n");
  }
  std::int64_t served = 0, calls = 0;
  double served_flops = 0, all_flops = 0;
  std::map<std::string, Declined> by_reason;
  for (const CalledProblem& problem : called.problems) {
    served += problem.served;
    calls += problem.calls();
    served_flops += problem.flops * static_cast<double>(problem.served);
    all_flops += problem.flops * static_cast<double>(problem.calls());
    for (const auto& [reason, count] : problem.declined) {
      by_reason[reason].calls += count;
      by_reason[reason].problems.emplace_back(count, problem.function + " " + problem.text);
    }
  }
  std::string text =
      fmt::format("gemm-tune: served {} of {} calls of cuBLAS, {:.1f} % of their operations\n",
                  served, calls, percent(served_flops, all_flops));
  for (const auto& [reason, declined] : by_reason) text += declined_text(reason, declined);
  for (const std::string& error : called.errors) text += "  " + error + "\n";
  return text;
}

}  // namespace

int run_application(const Options& options) {
  if (!options.report.empty()) require_writable(options.report);
  const ScratchDir scratch("gemm-tune-run");
  const std::filesystem::path report = scratch.path() / "report.jsonl";
  const int exit_code = run_under_drop_in(options, report);
  const CalledProblems called = read_called_problems(report);
  if (!options.report.empty()) write_output(options.report, called.text);
  if (!options.quiet)
    std::fputs(printable_lines(report_text(called, options.audit)).c_str(), stderr);
  return exit_code;
}

}  // namespace gemm_tune
