// SPDX-License-Identifier: Apache-2.0
// gemm-tune explain: prints all that is known about one config at one problem beside the best other
// config, without running either.
#include <spdlog/fmt/fmt.h>

#include <algorithm>

#include "choose/choose.h"
#include "choose/layered.h"
#include "cli/arguments/database.h"
#include "cli/arguments/kernel_dir.h"
#include "cli/arguments/target.h"
#include "cli/arguments/values/named_config.h"
#include "cli/commands.h"
#include "cli/explain/explanation.h"
#include "cli/explain/kernel_figures.h"
#include "cli/explain/stored_rows.h"
#include "cli/output/exit_code.h"
#include "cli/output/output_file.h"
#include "cli/output/standard_output.h"
#include "core/error.h"
#include "core/text/printable.h"
#include "core/text/shell_quote.h"
#include "kernel_templates/source/source.h"
#include "tuner/plan/filter.h"
#include "tuner/report/problem_json.h"
#include "tuner/report/report.h"
#include "tuner/work/own_worker.h"
#include "tuner/work/protocol.h"
#include "tuner/work/worker.h"
#include "tuner/work/worker_pool.h"

namespace gemm_tune {
namespace {

struct ExplainOptions : KernelOptions {
  std::string config;
  std::string cubin;

  void declare(CLI::App& app) {
    add_kernel_options(app, *this)->required();
    app.add_option("config", config, "Config text; default: the winner");
    app.add_option("--cubin", cubin, "File to write the compiled kernel to");
  }
};

constexpr std::chrono::seconds kCompileLimit{120};

// What the command asks about, and with which kernels.
struct Question {
  const ExplainOptions& options;
  const std::optional<KernelSources>& users;
  const Target& target;
  KernelRevisions revisions;
  std::vector<std::filesystem::path> layers;
  std::optional<Database> database;  // the user's; none above layers, or where a config is named
  std::string no_database;           // why there is none to read
};

Question question(const ExplainOptions& options, const std::optional<KernelSources>& users,
                  const Target& target, const std::vector<std::filesystem::path>& layers) {
  Question q{options, users, target, users ? revisions_of(*users) : current_revisions(),
             layers,  {},    {}};
  try {
    q.database = open_above(q.layers, options);
  } catch (const DatabaseError& error) {
    if (options.config.empty()) throw;
    q.no_database = error.what();
  }
  // Without a config, its choice tells of them.
  if (!options.config.empty()) {
    tell_of_layers(read_layers(q.layers, [](const Database&, const std::filesystem::path&) {}),
                   options.quiet);
  }
  return q;
}

// The config that the user names, or else the database's choice for the problem.
KnownConfig config_to_explain(const Question& q, const Problem& problem) {
  if (!q.options.config.empty()) return named_config(q.options.config);
  const std::string& arch = q.target.spec.arch;
  Layered all = load_layered(q.database ? &*q.database : nullptr, q.layers, arch, q.revisions);
  tell_of_layers(all.notes, q.options.quiet);
  const Choice choice = choose(all.tuned[arch], device_key(q.target.spec), problem);
  if (!choice.config) throw UsageError(choice.explanation);
  return *choice.config;
}

CompileReply compile(const Question& q, const KnownConfig& config) {
  WorkerPool compiler({compile_worker(own_worker())});
  CompileRequest request{to_string(config.config()), q.target.spec.arch, {}, true};
  if (q.users) request.source = q.users->at(config.family->name);
  return compiler.call("compile", request, kCompileLimit).get<CompileReply>();
}

KernelAnalysis analysis_of(const Question& q, const KnownConfig& config, const Problem& problem,
                           const CompileReply& compiled, std::optional<double> measured_us) {
  const DeviceSpec& device = q.target.spec;
  return analyse(config, problem, device, complete_resources(compiled.resources, config, device),
                 kernel_accesses(config, problem, device.sm_count, compiled.ptx, compiled.cubin),
                 measured_us);
}

void explain_start(Explanation& e, const KnownConfig& config, const Target& target,
                   const Problem& problem) {
  const std::string name = to_string(config.config());
  e.config("", name);
  e.paragraph(fmt::format("  at {} on {} ({}, {} SMs)", to_string(problem),
                          printable(target.spec.name), target.spec.arch, target.spec.sm_count),
              ' ', 2);
  const Traits& t = config.traits;
  e.line("CTA", fmt::format("{} x {} outputs in K slices of {}, {} threads of {} x {}", t.tile_m,
                            t.tile_n, t.tile_k, t.threads, t.thread_m, t.thread_n));
  e.json = {{"config", name},
            {"problem", problem},
            {"device", target.spec.name},
            {"arch", target.spec.arch},
            {"sm_count", target.spec.sm_count},
            {"cta",
             {{"tile_m", t.tile_m},
              {"tile_n", t.tile_n},
              {"tile_k", t.tile_k},
              {"threads", t.threads},
              {"thread_m", t.thread_m},
              {"thread_n", t.thread_n},
              {"smem_bytes", t.smem_bytes}}}};
}

void explain_resources(Explanation& e, const KernelAnalysis& kernel) {
  e.json["resources"] = kernel.resources;
  e.json["limited_by"] = to_string(kernel.fit.limiter);
  if (auto why = reject_after_compile(kernel.resources)) e.reason("rejected by resources", *why);
}

void explain_model(Explanation& e, const Prediction& p, const DeviceSpec& device) {
  const bool on_tensor_cores = p.tensor_us > 0;
  e.line("model's terms, us",
         fmt::format("{} {:.4g}, issue {:.4g}, L1 {:.4g}, L2 {:.4g}, DRAM {:.4g}, latency {:.4g}",
                     on_tensor_cores ? "tensor cores" : "FFMA",
                     on_tensor_cores ? p.tensor_us : p.ffma_us, p.issue_us, p.l1_us, p.l2_us,
                     p.dram_us, p.latency_us));
  if (p.repack_us > 0)
    e.line("launch before, us", fmt::format("{:.4g}: copies to aligned rows", p.repack_us));
  if (p.correction != 1)
    e.line("learned correction", fmt::format("times {:.3f}, of all of it", p.correction));
  e.line("model's time", fmt::format("{} ({})", duration_text(p.time_us), kPredictedLabel));
  if (const std::string note = unmeasured_model(device); !note.empty()) e.line("model", note);
  if (const std::string note = unexecuted_kernels(device); !note.empty()) e.line("kernels", note);
  e.json["kernels_executed_on_arch"] = unexecuted_kernels(device).empty();
  e.json["model_measured_on"] = model_measured_on(device);
  e.json["model"] = {{"time_us", p.time_us},
                     {"ctas_per_sm", p.ctas_per_sm},
                     {"occupancy", p.occupancy},
                     {"waves", p.waves},
                     {"tail_efficiency", p.tail_efficiency},
                     {"flops_per_dram_byte", p.flops_per_dram_byte},
                     {"ffma_us", p.ffma_us},
                     {"tensor_us", p.tensor_us},
                     {"issue_us", p.issue_us},
                     {"l1_us", p.l1_us},
                     {"l2_us", p.l2_us},
                     {"dram_us", p.dram_us},
                     {"latency_us", p.latency_us},
                     {"correction", p.correction},
                     {"repack_us", p.repack_us}};
}

void explain_row(Explanation& e, const ProblemRow& stored) {
  const Record& row = stored.record;
  const Outcome& outcome = row.outcome;
  std::string text = fmt::format("{}: {}", to_string(row.source), to_string(outcome.disposition));
  nlohmann::json json = {{"source", to_string(row.source)},
                         {"disposition", to_string(outcome.disposition)},
                         {"detail", outcome.detail},
                         {"recorded_at", row.recorded_at}};
  if (outcome.timing) {
    text += ", " + duration_text(outcome.timing->median_us);
    json["median_us"] = outcome.timing->median_us;
  }
  if (outcome.error) {
    text += fmt::format(", error {:.3g}", *outcome.error);
    json["error"] = *outcome.error;
  }
  if (!outcome.detail.empty()) text += ", " + outcome.detail;
  text += " (" + row.recorded_at + ")";
  if (!stored.layer.empty()) {
    text += ", of '" + excerpt(stored.layer) + "'";
    json["layer"] = stored.layer;
  }
  e.line(stored.layer.empty() ? "database" : "layer", text);
  e.json["rows"].push_back(std::move(json));
}

void explain_rows(Explanation& e, const Question& q, const std::vector<ProblemRow>& rows,
                  const std::string& config) {
  if (!q.no_database.empty()) e.reason("database", q.no_database);
  if (!q.database && q.layers.empty()) return;
  e.json["rows"] = nlohmann::json::array();
  for (const ProblemRow& row : rows) {
    if (row.record.config == config) explain_row(e, row);
  }
  if (!e.json["rows"].empty()) return;
  const std::string read = !q.database        ? "layers"
                           : q.layers.empty() ? "database"
                                              : "database, layers";
  e.line(read, "no row for this config, device and problem");
}

std::string tune_command(const Question& q, const Problem& problem, const std::string& config) {
  std::string command =
      "gemm-tune --sizes " + shell_quote(to_string(problem)) + database_words(q.options);
  if (!config.empty()) command += std::string(kConfigOption) + config + "'";
  return command;
}

const Figure* find(const std::vector<Figure>& figures, const std::string& key) {
  const auto at = std::find_if(figures.begin(), figures.end(),
                               [&](const Figure& figure) { return figure.key == key; });
  return at == figures.end() ? nullptr : &*at;
}

// ours and others: of the config and of the best other one, which may be empty.
void explain_figures(Explanation& e, const std::vector<Figure>& ours,
                     const std::vector<Figure>& others, const std::string& name_of_other) {
  const auto row = [&](const std::string& name, const std::string& value, const std::string& other,
                       std::string_view from) {
    e.text += fmt::format("  {:<{}}{:<{}}{:<{}}{}\n", name, kNameColumns, value, kValueColumns,
                          other, kValueColumns, from);
  };
  row("", "this config", name_of_other, "from");
  e.json["figures"] = nlohmann::json::array();
  const auto add = [&](const Figure& figure, const Figure* our, const Figure* other) {
    nlohmann::json json = {{"name", figure.key},
                           {"value", our == nullptr ? nlohmann::json() : our->value},
                           {"from", to_string(figure.from)}};
    if (other != nullptr) json["best_other"] = other->value;
    if (our != nullptr && !our->why_none.empty()) {
      json["inconclusive"] = our->why_none;
      json["settled_by"] = our->settled_by;
    }
    e.json["figures"].push_back(std::move(json));
    if (figure.name.empty()) return;
    const std::string none = others.empty() ? "" : "-";
    row(figure.name, our == nullptr ? none : our->text, other == nullptr ? none : other->text,
        to_string(figure.from));
  };
  for (const Figure& figure : ours) add(figure, &figure, find(others, figure.key));
  for (const Figure& figure : others) {
    if (find(ours, figure.key) == nullptr) add(figure, nullptr, &figure);
  }
}

// The inconclusive figures, with the commands that settle them.
void explain_unknown(Explanation& e, const std::vector<Figure>& figures) {
  std::string last;
  for (const Figure& figure : figures) {
    if (figure.why_none.empty() || figure.why_none == last) continue;
    last = figure.why_none;
    e.line("inconclusive", figure.name + ": " + figure.why_none + "; settled by");
    e.command(figure.settled_by);
  }
}

void explain_beside(Explanation& e, const Question& q, const KernelAnalysis& kernel,
                    const std::vector<ProblemRow>& rows, const Problem& problem) {
  const std::string name = to_string(kernel.config.config());
  const std::optional<KnownConfig> other = best_other(rows, q.revisions, name);
  std::vector<Figure> others;
  std::string column = "best other config";
  if (other) {
    const std::string others_name = to_string(other->config());
    e.text += "  beside " + column + ":\n";
    e.config("    ", others_name);
    e.json["best_other"] = others_name;
    const CompileReply compiled = compile(q, *other);
    if (compiled.ok) {
      others = figures(
          analysis_of(q, *other, problem, compiled, measured_us(rows, q.revisions, others_name)),
          problem, q.target.spec, tune_command(q, problem, others_name));
    }
  } else {
    column = "";
  }
  const std::vector<Figure> ours =
      figures(kernel, problem, q.target.spec, tune_command(q, problem, name));
  explain_figures(e, ours, others, column);
  explain_unknown(e, ours);
  if (!other) {
    e.line("inconclusive", "a comparison: no other config is stored here; settled by");
    e.command(tune_command(q, problem, ""));
  }
}

Explanation explain_one(const Question& q, const Problem& problem) {
  const KnownConfig config = config_to_explain(q, problem);
  const DeviceSpec& device = q.target.spec;
  Explanation e;
  explain_start(e, config, q.target, problem);
  if (auto why = reject_before_compile(config, problem, device)) {
    e.reason("rejected by rule", std::string(*why));
    if (auto legal = legal_for(config, problem); legal && legal->is_specialisation) {
      e.text += "  legal specialisation\n";
      e.config("    ", to_string(legal->config.config()));
      e.json["legal_specialisation"] = to_string(legal->config.config());
    }
    return e;
  }
  if (auto why = reject_needless(config, problem, device)) e.reason("left out", std::string(*why));
  const CompileReply compiled = compile(q, config);
  if (!compiled.ok) {
    e.reason("compile failed", compiled.log);
    return e;
  }
  if (!q.options.cubin.empty()) write_output(q.options.cubin, compiled.cubin);
  const std::string name = to_string(config.config());
  const std::vector<ProblemRow> rows = stored_rows(q.database ? &*q.database : nullptr, q.layers,
                                                   device_key(q.target.spec), problem);
  const KernelAnalysis kernel =
      analysis_of(q, config, problem, compiled, measured_us(rows, q.revisions, name));
  explain_resources(e, kernel);
  explain_beside(e, q, kernel, rows, problem);
  explain_model(e, kernel.prediction, device);
  explain_rows(e, q, rows, name);
  e.json["launch"] = {{"grid", {kernel.grid.x, kernel.grid.y, kernel.grid.z}},
                      {"piece_k", kernel.grid.piece_k},
                      {"threads", config.recipe.block_threads},
                      {"smem_bytes", config.recipe.smem_bytes},
                      {"totals", launch_totals(kernel)}};
  e.usable = true;
  return e;
}

int run_explain(const ExplainOptions& options) {
  const std::vector<Problem> problems = asked_problems(options);
  if (!options.config.empty()) named_config(options.config);
  const std::optional<KernelSources> users = users_kernels(options.kernel_dir, problems);
  if (!options.cubin.empty()) {
    if (problems.size() != 1) throw UsageError("--cubin takes one kernel: give one size");
    require_writable(options.cubin, {options.kernel_dir, options.db});
  }
  const std::vector<std::filesystem::path> layers = layers_below(options);
  const Target target = resolve_target(
      options, {[&] { return stored_devices(options, layers, /*is_needed=*/false); }});
  const Question q = question(options, users, target, layers);
  nlohmann::json all_json = nlohmann::json::array();
  bool all = true;
  for (const Problem& problem : problems) {
    Explanation e = explain_one(q, problem);
    all = all && e.usable;
    if (options.json) {
      all_json.push_back(std::move(e.json));
    } else {
      print_text(e.text);
    }
  }
  if (options.json) print_json(all_json);
  return all || options.cubin.empty() ? kExitOk : kExitNothingSurvived;
}

}  // namespace

void add_explain(CLI::App& app, Call& call) { attach<ExplainOptions>(app, call, run_explain); }

}  // namespace gemm_tune
