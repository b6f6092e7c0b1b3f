// SPDX-License-Identifier: Apache-2.0
// gemm-tune explain: prints all that is known about one config at one problem, without running it.
#include <spdlog/fmt/fmt.h>

#include <algorithm>

#include "choose/choose.h"
#include "core/error.h"
#include "core/occupancy.h"
#include "kernel_templates/source.h"
#include "search/static_model.h"
#include "tuner/app/commands.h"
#include "tuner/app/exit_code.h"
#include "tuner/app/output_file.h"
#include "tuner/app/own_worker.h"
#include "tuner/app/requests.h"
#include "tuner/app/standard_output.h"
#include "tuner/app/target.h"
#include "tuner/job/filter.h"
#include "tuner/report/report.h"
#include "tuner/work/protocol.h"
#include "tuner/work/worker.h"
#include "tuner/work/worker_pool.h"

namespace gemm_tune {
namespace {

constexpr std::chrono::seconds kCompileLimit{120};

// All that is known about one config at one problem, as text for people and JSON for programs.
struct Explanation {
  std::string text;
  nlohmann::json json = nlohmann::json::object();  // unknown values have no key
  bool usable = false;                             // there is a kernel to speak of

  void line(const std::string& name, const std::string& value) {
    text += fmt::format("  {:<22}{}\n", name, value);
  }

  // Adds a reason to the text and to the JSON, under the same name.
  void reason(const std::string& name, const std::string& why) {
    line(name, why);
    std::string key = name;
    std::replace(key.begin(), key.end(), ' ', '_');
    json[key] = why;
  }
};

KnownConfig named_config(const Options& options) {
  return check_config(parse_config(without_white_space(options.config)));
}

// The config that the user names, or else the database's choice for the problem.
KnownConfig config_to_explain(const Options& options, const std::optional<KernelSources>& users,
                              const Target& target, const Problem& problem) {
  if (!options.config.empty()) return named_config(options);
  const Database database = open_for_reading(options);
  const Tuned tuned = load_tuned(database, target.spec.arch,
                                 users ? hashes_of(kernel_texts(*users)) : current_kernel_hashes());
  const Choice choice = choose(tuned, device_key(target.spec), problem);
  if (!choice.config) throw UsageError(choice.explanation);
  return *choice.config;
}

CompileReply compile(const Options& options, const std::optional<KernelSources>& users,
                     const Target& target, const KnownConfig& config) {
  WorkerPool compiler({compile_worker(own_worker())});
  CompileRequest request{to_string(config.config()), target.spec.arch};
  if (users) request.source = users->at(config.family->name);
  const auto reply = compiler.call("compile", request, kCompileLimit).get<CompileReply>();
  if (reply.ok && !options.cubin.empty()) write_output(options.cubin, reply.cubin);
  return reply;
}

void explain_start(Explanation& e, const KnownConfig& config, const Target& target,
                   const Problem& problem) {
  const std::string name = to_string(config.config());
  e.text = fmt::format("{}\n  at {} on {} ({}, {} SMs)\n", name, to_string(problem),
                       target.spec.name, target.spec.arch, target.spec.sm_count);
  const Traits& t = config.traits;
  e.line("CTA", fmt::format("{} x {} outputs in K slices of {}, {} threads of {} x {}", t.tile_m,
                            t.tile_n, t.tile_k, t.threads, t.thread_m, t.thread_n));
  e.line("shared memory", fmt::format("{} bytes per CTA", t.smem_bytes));
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

void explain_resources(Explanation& e, const Resources& resources, std::string_view limiter) {
  e.line("compiled",
         fmt::format("{} registers, {} bytes spilled, {} bytes of stack", resources.registers,
                     resources.spill_bytes, resources.stack_bytes));
  e.json["resources"] = resources;
  e.reason("limited by", std::string(limiter));
  if (auto why = reject_after_compile(resources)) e.reason("rejected by resources", *why);
}

void explain_model(Explanation& e, const Prediction& p, const DeviceSpec& device,
                   const Problem& problem) {
  e.line("CTAs per SM", fmt::format("{}, occupancy {:.1f} %", p.ctas_per_sm, 100 * p.occupancy));
  e.line("waves",
         fmt::format("{:.2f}, {:.1f} % of their CTA slots used", p.waves, 100 * p.tail_efficiency));
  e.line("arithmetic intensity", fmt::format("{:.1f} FLOP per DRAM byte", p.flops_per_dram_byte));
  const bool on_tensor_cores = p.tensor_us > 0;
  e.line("model's terms, us",
         fmt::format("{} {:.4g}, issue {:.4g}, L1 {:.4g}, L2 {:.4g}, DRAM {:.4g}, latency {:.4g}",
                     on_tensor_cores ? "tensor cores" : "FFMA",
                     on_tensor_cores ? p.tensor_us : p.ffma_us, p.issue_us, p.l1_us, p.l2_us,
                     p.dram_us, p.latency_us));
  if (p.repack_us > 0)
    e.line("launch before, us", fmt::format("{:.4g}: copies to aligned rows", p.repack_us));
  e.line("model's time", fmt::format("{:.5g} us ({})", p.time_us, kPredictedLabel));
  if (const std::string note = unmeasured_model(device, {&problem, 1}); !note.empty())
    e.line("model", note);
  if (const std::string note = unexecuted_kernels(device); !note.empty()) e.line("kernels", note);
  e.json["kernels_executed_on_arch"] = unexecuted_kernels(device).empty();
  e.json["model_measured_on"] = model_measured_on(device, {&problem, 1});
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
                     {"repack_us", p.repack_us}};
}

void explain_row(Explanation& e, const Record& row) {
  const Outcome& outcome = row.outcome;
  std::string text = fmt::format("{}: {}", to_string(row.source), to_string(outcome.disposition));
  nlohmann::json json = {{"source", to_string(row.source)},
                         {"disposition", to_string(outcome.disposition)},
                         {"detail", outcome.detail},
                         {"recorded_at", row.recorded_at}};
  if (outcome.timing) {
    text += fmt::format(", {:.5g} us", outcome.timing->median_us);
    json["median_us"] = outcome.timing->median_us;
  }
  if (outcome.error) {
    text += fmt::format(", error {:.3g}", *outcome.error);
    json["error"] = *outcome.error;
  }
  if (!outcome.detail.empty()) text += ", " + outcome.detail;
  e.line("database", text + " (" + row.recorded_at + ")");
  e.json["rows"].push_back(std::move(json));
}

void explain_rows(Explanation& e, const Options& options, const Target& target,
                  const Problem& problem, const std::string& config) {
  std::optional<Database> database;
  try {
    database.emplace(open_for_reading(options));
  } catch (const DatabaseError& error) {
    return e.reason("database", error.what());
  }
  e.json["rows"] = nlohmann::json::array();
  for (const Record& row : database->records(device_key(target.spec), problem)) {
    if (row.config == config) explain_row(e, row);
  }
  if (e.json["rows"].empty()) e.line("database", "no row for this config, device and problem");
}

Explanation explain_one(const Options& options, const std::optional<KernelSources>& users,
                        const Target& target, const Problem& problem) {
  const KnownConfig config = config_to_explain(options, users, target, problem);
  Explanation e;
  explain_start(e, config, target, problem);
  if (auto why = reject_before_compile(config, problem, target.spec)) {
    e.reason("rejected by rule", std::string(*why));
    if (auto legal = legal_for(config, problem); legal && legal->is_twin) {
      e.reason("legal twin", to_string(legal->config.config()));
    }
    return e;
  }
  if (auto why = reject_needless(config, problem, target.spec)) {
    e.reason("left out", std::string(*why));
  }
  const CompileReply compiled = compile(options, users, target, config);
  if (!compiled.ok) {
    e.reason("compile failed", compiled.log);
    return e;
  }
  const Resources resources = complete_resources(compiled.resources, config, target.spec);
  const Occupancy fit = occupancy(target.spec, config.recipe.block_threads, resources.registers,
                                  resources.smem_bytes);
  explain_resources(e, resources, to_string(fit.limiter));
  explain_model(e, predict(config.traits, problem, target.spec, resources), target.spec, problem);
  explain_rows(e, options, target, problem, to_string(config.config()));
  e.usable = true;
  return e;
}

}  // namespace

int run_explain(const Options& options) {
  const std::vector<Problem> problems = asked_problems(options);
  if (!options.config.empty()) named_config(options);
  const std::optional<KernelSources> users = users_kernels(options, problems);
  if (!options.cubin.empty()) {
    if (problems.size() != 1) throw UsageError("--cubin takes one kernel: give one size");
    require_writable(options.cubin);
  }
  const Target target = resolve_target(options);
  nlohmann::json all_json = nlohmann::json::array();
  bool all = true;
  for (const Problem& problem : problems) {
    Explanation e = explain_one(options, users, target, problem);
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

}  // namespace gemm_tune
