// SPDX-License-Identifier: Apache-2.0
// gemm-tune ladder: shows the tutorials' rungs at one size, from the database; missing rungs are
// tried first. The database's winner stands on top. All rungs compute the same product, with no
// operand transposed.
#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <map>

#include "choose/choose.h"
#include "cli/arguments/database.h"
#include "cli/arguments/target.h"
#include "cli/commands.h"
#include "cli/output/exit_code.h"
#include "cli/output/signals.h"
#include "cli/output/standard_output.h"
#include "cli/tune/request.h"
#include "core/error.h"
#include "core/text/printable.h"
#include "kernel_templates/ladder.h"
#include "tuner/agents/one_machine.h"
#include "tuner/job/log.h"
#include "tuner/plan/problem_results.h"
#include "tuner/report/progress.h"
#include "tuner/report/report.h"
#include "tuner/work/protocol.h"

namespace gemm_tune {
namespace {

struct LadderOptions : KernelOptions, SearchOptions {
  void declare(CLI::App& app) {
    add_kernel_options(app, *this)->required();
    add_search(app, *this, *this);
  }
};

// A rung at one problem: its config, or the config's predicated specialisation if only that is
// legal.
struct Step {
  Rung rung;
  KnownConfig config;
  std::optional<Record> row;
};

std::vector<Step> steps_at(const Problem& problem) {
  std::vector<Step> steps;
  for (const Rung& rung : ladder()) {
    const KnownConfig config = check_config(parse_config(rung.config));
    if (auto legal = legal_for(config, problem)) steps.push_back({rung, legal->config, {}});
  }
  return steps;
}

// Fills in the database's rows for the current kernel texts and the requested source.
void find_rows(std::vector<Step>& steps, const Database& database, const TuneRequest& request,
               const Problem& problem) {
  std::map<std::pair<std::string, std::string>, Record> rows;  // by config and kernel hash
  const Source source = request.measure ? Source::measured : Source::predicted;
  for (Record& row : database.records(device_key(request.device), problem)) {
    if (row.source == source) rows.emplace(std::pair(row.config, row.revision), std::move(row));
  }
  const KernelRevisions revisions = revisions_of(request);
  for (Step& step : steps) {
    const std::string& hash = revisions.at(step.config.family->name);
    const auto found = rows.find({to_string(step.config.config()), hash});
    if (found != rows.end()) step.row = found->second;
  }
}

void try_missing(const std::vector<Step>& steps, TuneRequest request, std::size_t number,
                 Database& database, ProgressPrinter& printer) {
  const std::size_t problems = request.problems.size();
  request.problems = {request.problems[number - 1]};
  request.only.clear();
  for (const Step& step : steps) {
    if (!step.row) request.only.push_back(step.config);
  }
  if (request.only.empty()) return;
  tune(request, database, [&](Progress progress) {
    progress.number = number;
    progress.problems = problems;
    printer.show(progress);
  });
  printer.clear();
}

std::optional<double> time_of(const Step& step) {
  if (!step.row || step.row->outcome.disposition != Disposition::ok) return std::nullopt;
  return step.row->outcome.time_us();
}

// The first baseline beside which a rung was timed.
std::optional<Baseline> baseline_of(const std::vector<Step>& steps) {
  for (const Step& step : steps) {
    if (step.row && step.row->baseline) return step.row->baseline;
  }
  return std::nullopt;
}

std::optional<double> baseline_us_of(const std::vector<Step>& steps) {
  const std::optional<Baseline> baseline = baseline_of(steps);
  return baseline ? std::optional(baseline->timing.median_us) : std::nullopt;
}

// The database's winner at the problem as the last step, where it is none of the rungs.
void add_winner(std::vector<Step>& steps, const Database& database, const TuneRequest& request,
                const Problem& problem) {
  static constexpr Rung kWinner = {"the tuned winner", "",
                                   "the fastest of all that searches tried at this problem"};
  const Source source = request.measure ? Source::measured : Source::predicted;
  const KernelRevisions revisions = revisions_of(request);
  std::optional<Winner> best;
  for (Winner& winner : load_winners(database, request.device.arch, revisions)) {
    const Record& row = winner.record;
    if (row.source != source || row.device != device_key(request.device)) continue;
    const Sameness same = sameness(row.problem, problem);
    if (same > (best ? sameness(best->record.problem, problem) : Sameness::none))
      best = std::move(winner);
  }
  if (!best) return;
  const bool is_rung = std::any_of(steps.begin(), steps.end(), [&](const Step& step) {
    return to_string(step.config.config()) == best->record.config;
  });
  if (!is_rung) steps.push_back({kWinner, best->config, best->record});
}

void print_table(const std::vector<Step>& steps, const Problem& problem, const Target& target) {
  print_fitted(fmt::format("{} on {} ({}){}\n", to_string(problem), printable(target.spec.name),
                           target.spec.arch,
                           target.measurable ? "" : fmt::format(", {}", kPredictedLabel)));
  const std::optional<double> baseline_us = baseline_us_of(steps);
  std::optional<double> previous_us;
  for (const Step& step : steps) {
    const std::optional<double> time_us = time_of(step);
    std::string text = fmt::format("  {:<32}", step.rung.name);
    if (time_us) {
      text += fmt::format("{:>14}", tflops_text(problem, *time_us));
      text += fmt::format("  {:>7}",
                          previous_us ? fmt::format("x{:.2f}", *previous_us / *time_us) : "");
      // Each beside the baseline of its own run.
      const auto& own = step.row->baseline;
      const auto beside_us = own ? std::optional(own->timing.median_us) : baseline_us;
      if (beside_us) text += fmt::format("  {:>6.3f} of cuBLAS", *beside_us / *time_us);
      previous_us = time_us;
    } else {
      text += "  " + (step.row ? step.row->outcome.detail : std::string("not tried"));
    }
    text += fmt::format("\n    {}\n    {}\n", step.rung.teaches, to_string(step.config.config()));
    print_fitted(text);
  }
  if (baseline_us) {
    // Without the version, because rungs have no version either.
    const std::string name = baseline_of(steps)->name;
    print_text(fmt::format("  {:<32}{:>14}\n", name.substr(0, name.find(' ')),
                           tflops_text(problem, *baseline_us)));
  }
}

nlohmann::json json_of(const std::vector<Step>& steps, const Problem& problem,
                       const Target& target) {
  nlohmann::json rungs = nlohmann::json::array();
  for (const Step& step : steps) {
    rungs.push_back({{"rung", step.rung.name},
                     {"teaches", step.rung.teaches},
                     {"config", to_string(step.config.config())},
                     {"time_us", time_of(step)}});
  }
  return {{"problem", problem},
          {"arch", target.spec.arch},
          {"device", target.spec.name},
          {"source", to_string(target.measurable ? Source::measured : Source::predicted)},
          {"baseline_us", baseline_us_of(steps)},
          {"rungs", rungs}};
}

int run_ladder(const LadderOptions& options, const Call& call) {
  log_to_standard_error(options.verbose);
  std::vector<Problem> problems = asked_problems(options);
  for (const Problem& problem : problems) {
    const bool has_rungs = problem.signature == Signature() && problem.layout == Layout::nn;
    if (has_rungs && problem.batch == 1 && problem.batch_kind == BatchKind::strided) continue;
    throw UsageError("the ladder has no rungs for " + to_string(problem) +
                     ": leave out type, layout and batch");
  }
  const Target target =
      resolve_target(options, {[&] { return stored_devices(options, {}, /*is_needed=*/false); }});
  TuneRequest request = search_request(options, options.kernel_dir, target, std::move(problems));
  Database database = open_for_writing(options);
  begin_run(database, request, target, call.command_line);
  request.interruption = watch_for_signals();
  nlohmann::json all = nlohmann::json::array();
  ProgressPrinter printer(options.quiet || options.verbose);
  for (std::size_t i = 0; i < request.problems.size(); ++i) {
    const Problem& problem = request.problems[i];
    std::vector<Step> steps = steps_at(problem);
    find_rows(steps, database, request, problem);
    try_missing(steps, request, i + 1, database, printer);
    if (request.interruption.requested()) return kExitInterrupted;
    find_rows(steps, database, request, problem);
    add_winner(steps, database, request, problem);
    if (options.json) {
      all.push_back(json_of(steps, problem, target));
    } else {
      print_table(steps, problem, target);
    }
  }
  database.confirm_stored();
  if (options.json) print_json(all);
  if (!options.json && !target.measurable) {
    print_text(how_to_time(target, call.command_line));
  }
  return kExitOk;
}

}  // namespace

void add_ladder(CLI::App& app, Call& call) { attach<LadderOptions>(app, call, run_ladder); }

}  // namespace gemm_tune
