// SPDX-License-Identifier: Apache-2.0
#include "cli/tune/range_command.h"

#include <algorithm>
#include <future>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "cli/arguments/database.h"
#include "cli/arguments/target.h"
#include "cli/arguments/values/share.h"
#include "cli/output/exit_code.h"
#include "cli/output/failure.h"
#include "cli/output/signals.h"
#include "cli/tune/dry_run.h"
#include "cli/tune/request.h"
#include "cli/tune/tune_output.h"
#include "cli/tune/tuning.h"
#include "core/error.h"
#include "tuner/process/running_clock.h"
#include "tuner/range/m_range.h"
#include "tuner/range/range_tuning.h"

namespace gemm_tune {
namespace {

// Each for one (N, K).
using Ranges = std::vector<std::vector<Problem>>;

void refuse_other_ways(const TuneHereOptions& options) {
  const auto refuse = [](const std::string& option, const std::string& why) {
    throw UsageError("--m-range tries the same configs at every M, so that " + option + " " + why);
  };
  if (options.target) refuse("--target", "has no use: leave it out");
  if (!options.strategy.empty()) refuse("--strategy", "has no use: leave it out");
  if (options.budget == "all") refuse("--budget all", "is too much: write how many, as in 160");
}

Ranges asked_ranges(const TuneHereOptions& options) {
  refuse_other_ways(options);
  const MRange range = parse_m_range(options.m_range);
  const std::vector<std::int64_t> plain = sampled_m(range);
  if (options.sizes.empty()) {
    throw UsageError("name N and K for --m-range with --sizes, as in --m-range 1:256 --sizes " +
                     std::string("11008x4096"));
  }
  // Where A is stored transposed, M decides how its rows are aligned, and some kernels serve only
  // rows of whole 16 bytes.
  Ranges ranges = parse_sizes_without_m(options.sizes, sampled_m_of_any_alignment(range),
                                        problem_defaults(options));
  for (std::vector<Problem>& problems : ranges) {
    if (transposes_a(problems.front().layout)) continue;
    std::erase_if(problems, [&](const Problem& one) {
      return !std::binary_search(plain.begin(), plain.end(), one.M);
    });
  }
  return ranges;
}

int dry_run_ranges(const TuneHereOptions& options, const Target& target, const Ranges& ranges,
                   double within) {
  if (options.json && ranges.size() > 1) {
    throw UsageError("--dry-run --json counts for one NxK of --m-range: name one in --sizes");
  }
  const ScratchDir folder("gemm-tune-dry-run");
  Database database = database_to_read(database_path(options), folder);
  int worst = kExitOk;
  for (const std::vector<Problem>& problems : ranges) {
    TuneRequest request = tune_request(options, target, {problems, {}});
    request.in_one_order = options.batch_invariant;
    request.only = first_of_range(request, within, database);
    request.specialises = true;
    request.budget.reset();
    worst = std::max(worst, dry_run(request, target, options, database));
  }
  return worst;
}

}  // namespace

int tune_ranges(const TuneHereOptions& options, const Call& call) {
  const double within = options.within.empty() ? 0.05 : parse_share("--within", options.within);
  // Malformed sizes are refused before a driver is started.
  const Ranges ranges = asked_ranges(options);
  const std::future<void> opened = open_libraries(options);
  const Target target = resolve_target(options);
  if (options.dry_run) return dry_run_ranges(options, target, ranges, within);
  Database database = open_for_tuning(options);
  watch_for_reader();
  const Interruption interruption = watch_for_signals();  // planning a pool takes seconds
  TuneReport all;
  std::vector<RangeReport> tables;
  std::vector<std::string> refusals;
  const RunningClock::time_point begin = RunningClock::now();
  std::size_t left = ranges.size();
  for (const std::vector<Problem>& problems : ranges) {
    TuneRequest request = tune_request(options, target, {problems, {}});
    request.in_one_order = options.batch_invariant;
    request.interruption = interruption;
    if (request.time_limit) {
      request.time_limit = time_of_range(*request.time_limit, RunningClock::now() - begin, left);
    }
    --left;
    choose_kernel_cache(options, request);
    RangeTuned tuned;
    try {
      tuned = tune_range(request, within, database, [&](const TuneRequest& search) {
        return tune_with_progress(search, options, target, database, call.command_line, nullptr);
      });
    } catch (const NothingFound& none) {  // the ranges behind it are tuned in any case
      if (ranges.size() == 1) throw;
      refusals.push_back(range_text(problems.front(), problems.back().M) + ": " + none.what());
      continue;
    }
    if (!options.json && (options.quiet || options.why)) {
      for (const ProblemReport& one : tuned.report.problems) print_problem(one, target, options);
    }
    all.interrupted = tuned.report.interrupted;
    all.unfinished = tuned.report.unfinished || all.interrupted;
    all.out_of_time = all.out_of_time || tuned.report.out_of_time;
    std::move(tuned.report.problems.begin(), tuned.report.problems.end(),
              std::back_inserter(all.problems));
    if (all.interrupted) break;  // a table would say of the M that are left that nothing serves
    if (!tuned.range.configs.empty()) tables.push_back(std::move(tuned.range));
  }
  if (refusals.size() < ranges.size()) {
    print_end(std::vector{DeviceReport{target, all}}, options, call, database, tables);
  }
  for (const std::string& refusal : refusals) tell_failure(refusal, kExitNothingSurvived);
  if (all.interrupted || refusals.empty()) return exit_code(all);
  return std::max<int>(exit_code(all), kExitNothingSurvived);
}

}  // namespace gemm_tune
