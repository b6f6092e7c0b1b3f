// SPDX-License-Identifier: Apache-2.0
#include "cli/tune/tune_output.h"

#include <spdlog/fmt/fmt.h>

#include <cstdio>

#include "cli/output/exit_code.h"
#include "cli/output/signals.h"
#include "cli/output/standard_output.h"
#include "core/text/printable.h"
#include "tuner/report/problem_json.h"
#include "tuner/report/range_table.h"
#include "tuner/report/report.h"
#include "tuner/report/summary.h"

namespace gemm_tune {
namespace {

void print_json_report(std::span<const DeviceReport> reports, const Database& database,
                       std::span<const RangeReport> ranges) {
  nlohmann::json problems = nlohmann::json::array();
  bool interrupted = false;
  for (const auto& [target, report] : reports) {
    interrupted = interrupted || report.interrupted;
    for (const ProblemReport& problem : report.problems) {
      problems.push_back(problem_json(problem, target));
    }
  }
  nlohmann::json report = {
      {"problems", problems}, {"database", database.path().string()}, {"interrupted", interrupted}};
  for (const RangeReport& range : ranges) report["ranges"].push_back(range_json(range));
  print_json(report);
}

}  // namespace

int exit_code(const TuneReport& report) {
  if (report.interrupted) return kExitInterrupted;
  bool ran_and_failed = false, all_won = true, any_won = false;
  for (const ProblemReport& problem : report.problems) {
    const Funnel& funnel = problem.funnel;
    // What the time did not reach has not failed, where it sufficed for others.
    const bool is_untried =
        problem.cut_short == CutShort::by_time_limit && funnel.tried == funnel.unfinished;
    all_won = all_won && (problem.winner || is_untried);
    any_won = any_won || problem.winner;
    const auto failed = total(funnel.failed_on_gpu) + total(funnel.failed_by_environment);
    ran_and_failed = ran_and_failed || (!problem.winner && failed > 0 && funnel.survived == 0);
  }
  if (ran_and_failed) return kExitVerification;
  return all_won && (any_won || report.problems.empty()) ? kExitOk : kExitNothingSurvived;
}

void print_problem(const ProblemReport& problem, const Target& target, const TuneOptions& options) {
  if (options.quiet) {
    print_text(result_line(problem, target) + "\n");
  } else if (options.why) {
    print_text(problem_text(problem, target) + "\n");
  } else {
    print_text(short_text(problem, target, form_of_standard_output()) + "\n");
  }
  flush_standard_output();
}

void print_end(std::span<const DeviceReport> reports, const TuneOptions& options, const Call& call,
               Database& database, std::span<const RangeReport> ranges) {
  database.confirm_stored();
  bool out_of_time = false, interrupted = false, unfinished = false;
  for (const auto& [target, report] : reports) {
    out_of_time = out_of_time || report.out_of_time;
    interrupted = interrupted || report.interrupted;
    unfinished = unfinished || report.unfinished;
  }
  if (options.json) {
    print_json_report(reports, database, ranges);
  } else if (!options.quiet) {
    for (const auto& [target, report] : reports) {
      if (report.problems.size() > 1) print_text(results_table(report.problems, target) + "\n");
    }
    print_text(fmt::format("stored in {}\n", printable(database.path().string())));
    if (!options.why) print_text("every reason for a rejection: the same command with --why\n");
    for (const auto& [target, report] : reports) {
      if (!target.measurable) print_text(how_to_time(target, call.command_line));
    }
  }
  for (const RangeReport& range : ranges) {
    if (!options.json) print_text(range_table(range));
  }
  if (out_of_time) {
    fmt::print(stderr, "gemm-tune: searches ended as their share of --time was used up\n");
  }
  if (interrupted) {
    end_without_reader();
    fmt::print(stderr, "gemm-tune: interrupted{} is stored in {}{}\n",
               unfinished ? "; what was finished" : " when all was done; all",
               printable(database.path().string()),
               unfinished ? ", and the same command goes on from there" : "");
  }
}

}  // namespace gemm_tune
