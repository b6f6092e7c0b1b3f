// SPDX-License-Identifier: Apache-2.0
// gemm-tune best: prints the config that a program would get for these sizes, and the reason.
#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <utility>

#include "choose/choose.h"
#include "choose/layered.h"
#include "cli/arguments/database.h"
#include "cli/arguments/kernel_dir.h"
#include "cli/arguments/target.h"
#include "cli/commands.h"
#include "cli/output/exit_code.h"
#include "cli/output/standard_output.h"
#include "core/error.h"
#include "core/text/printable.h"
#include "core/text/quantity.h"
#include "db/validity/checked_configs.h"
#include "runtime/library.h"
#include "tuner/report/problem_json.h"
#include "tuner/report/report.h"
#include "tuner/work/protocol.h"

namespace gemm_tune {
namespace {

struct BestOptions : KernelOptions, RuleOptions {
  bool without_library = false;
  bool batch_invariant = false;

  void declare(CLI::App& app) {
    add_kernel_options(app, *this)->required();
    add_winner_rule(app, *this);
    app.add_flag("--without-library", without_library,
                 "The best kernel, for a program that cannot call cuBLAS and cublasLt");
    app.add_flag("--batch-invariant", batch_invariant,
                 "The kernel of one order of sums for every M, as by GT_POLICY_BATCH_INVARIANT");
  }
};

// Whether the winner's own config has a measured or predicted time for the problem.
bool has_time(const Problem& problem, const Choice& choice) {
  return choice.winner && !choice.is_specialisation &&
         sameness(choice.winner->problem, problem) != Sameness::none &&
         choice.match != Match::nearest;
}

// "expected 12.3 us, half of such expectations within 8 %".
std::string expectation(const Choice& choice) {
  if (!choice.expected_us) return "";
  std::string text = "expected " + duration_text(*choice.expected_us);
  if (!choice.within) return text + ", how sure is not known";
  return text +
         fmt::format(", half of such expectations within {:.2g} %", 100 * (*choice.within - 1));
}

// The configs of the winner's tie set without the winner, fastest first.
std::vector<std::string> tied_with(const Problem& problem, const Choice& choice,
                                   const Database& database, const KernelRevisions& revisions) {
  if (!has_time(problem, choice) || !choice.winner->outcome.ranking) return {};
  std::vector<std::pair<double, std::string>> tied;
  CheckedConfigs configs;
  for (const Record& row : database.records(choice.winner->device, choice.winner->problem)) {
    const std::optional<Ranking>& ranking = row.outcome.ranking;
    if (ranking && ranking->tied && row.run.uuid == choice.winner->run.uuid &&
        row.config != choice.winner->config && !why_stale(row.config, row.revision, revisions) &&
        configs.may_serve(row.config, problem)) {
      tied.emplace_back(row.outcome.timing->median_us, row.config);
    }
  }
  std::sort(tied.begin(), tied.end());
  std::vector<std::string> names;
  for (auto& [time_us, config] : tied) names.push_back(std::move(config));
  return names;
}

std::string lines_for(const Problem& problem, const Choice& choice,
                      const std::vector<Baseline>& baselines,
                      const std::vector<std::string>& tied) {
  const std::string indent(4, ' ');
  std::string text = fmt::format("{}  {}  ", to_string(problem), to_string(choice.match));
  text += choice.config ? to_string(choice.config->config()) : "-";
  if (choice.winner && choice.config->family->is_library()) {
    text += fmt::format("  ({} {})", choice.config->family->library, choice.winner->revision);
  }
  if (has_time(problem, choice)) {
    const Outcome& outcome = choice.winner->outcome;
    text +=
        "  " + time_text(problem, outcome) + baselines_text(problem, outcome, baselines, indent);
  }
  if (choice.winner && choice.winner->source == Source::predicted) {
    text += fmt::format(" ({})", kPredictedLabel);
  }
  text += "\n" + indent + choice.explanation + "\n";
  const std::string expected = expectation(choice);
  if (!expected.empty() && choice.match != Match::exact) text += indent + expected + "\n";
  if (has_time(problem, choice)) {
    text += measured_details(problem, choice.winner->outcome, baselines, tied, indent);
  }
  return text;
}

nlohmann::json json_for(const Problem& problem, const Choice& choice,
                        const std::vector<Baseline>& baselines,
                        const std::vector<std::string>& tied) {
  nlohmann::json json =
      time_json(has_time(problem, choice) ? choice.winner->outcome : Outcome{}, baselines, tied);
  json["problem"] = problem;
  json["match"] = to_string(choice.match);
  json["config"] = nullptr;
  json["source"] = nullptr;
  json["layer"] = nullptr;
  if (!choice.layer.empty()) json["layer"] = choice.layer;
  json["predicated_specialisation"] = choice.is_specialisation;
  json["explanation"] = choice.explanation;
  json["expected_us"] = nullptr;
  json["expected_within"] = nullptr;
  if (choice.expected_us) json["expected_us"] = *choice.expected_us;
  if (choice.within) json["expected_within"] = *choice.within;
  if (choice.config) json["config"] = to_string(choice.config->config());
  if (choice.winner) json["source"] = to_string(choice.winner->source);
  return json;
}

// Results of other revisions are not used for the answer; a note says so, because users may wonder.
void tell_of_other_revisions(const Database& database, const std::string& arch,
                             const KernelRevisions& revisions) {
  const std::int64_t rows = database.rows_of_other_revisions(arch, revisions);
  if (rows == 0) return;
  fmt::print(stderr,
             "gemm-tune: {} results for {} are of other kernels and are not used: name your own by "
             "--family or --kernel-dir, or tune again if this program has newer ones\n",
             grouped(static_cast<std::uint64_t>(rows)), arch);
}

// What to do where a size has no winner.
std::string advice_where_none(const BestOptions& options, const Target& target,
                              const WinnerRule& rule) {
  if (rule != WinnerRule()) {
    return "no stored result has the times and errors that --objective and --max-error ask for: "
           "tune with them";
  }
  if (options.batch_invariant) {
    return "a size has no tuned kernel of one order of sums that fits: tune its N and K, with the "
           "alignment of its operands, by --m-range and --batch-invariant";
  }
  return with_tune_command("a size has no tuned kernel that fits: tune first", options,
                           target.measurable ? "" : target.spec.arch);
}

// Where the choice rests on a layer's row, that layer.
std::optional<Database> opened_layer(const Choice& choice) {
  if (choice.layer.empty()) return std::nullopt;
  return Database(choice.layer, Database::Mode::immutable);
}

int run_best(const BestOptions& options) {
  const std::vector<Problem> problems = asked_problems(options);
  const std::vector<std::filesystem::path> layers = layers_below(options);
  const Target target = resolve_target(
      options, {[&] { return stored_devices(options, layers, /*is_needed=*/true); }});
  std::optional<Database> own = open_above(layers, options);
  const KernelRevisions revisions = asked_revisions(options.kernel_dir, problems);
  const WinnerRule rule = winner_rule(options);
  Layered all_tuned = load_layered(own ? &*own : nullptr, layers, target.spec.arch, revisions, rule,
                                   options.batch_invariant);
  tell_of_layers(all_tuned.notes, options.quiet);
  const Tuned& tuned = all_tuned.tuned[target.spec.arch];
  // Expected times of cuBLAS are hot ones.
  const bool with_library = !options.without_library && rule.objective == Objective::hot;
  nlohmann::json all = nlohmann::json::array();
  bool found = true;
  // The default's text may be edited, too: nobody knows its order of sums then.
  const bool untuned = !options.batch_invariant || options.kernel_dir.empty();
  for (const Problem& problem : problems) {
    const Choice choice =
        choose(tuned, device_key(target.spec), problem,
               {with_library && library_takes(problem), untuned, options.batch_invariant});
    std::vector<std::string> tied;
    std::vector<Baseline> baselines;
    if (has_time(problem, choice)) {
      const std::optional<Database> layer = opened_layer(choice);
      const Database& database = layer ? *layer : *own;
      tied = tied_with(problem, choice, database, revisions);
      baselines = database.baselines(*choice.winner);
    }
    found = found && choice.winner != nullptr;
    if (options.json) {
      all.push_back(json_for(problem, choice, baselines, tied));
    } else {
      print_fitted(lines_for(problem, choice, baselines, tied));
    }
  }
  if (options.json) print_json(all);
  if (!found && !options.quiet) {
    fmt::print(stderr, "gemm-tune: {}\n", advice_where_none(options, target, rule));
    if (own) tell_of_other_revisions(*own, target.spec.arch, revisions);
  }
  return found ? kExitOk : kExitNothingSurvived;
}

}  // namespace

void add_best(CLI::App& app, Call& call) { attach<BestOptions>(app, call, run_best); }

}  // namespace gemm_tune
