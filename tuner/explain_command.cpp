// gemm-tune explain: everything known of one config at one problem, without running it.
#include <spdlog/fmt/fmt.h>

#include <fstream>

#include "core/error.h"
#include "core/occupancy.h"
#include "db/choose.h"
#include "gpu/cubin_cache.h"
#include "search/static_model.h"
#include "tuner/commands.h"
#include "tuner/exit_code.h"
#include "tuner/filter.h"
#include "tuner/protocol.h"
#include "tuner/report.h"
#include "tuner/scratch_dir.h"
#include "tuner/target.h"
#include "tuner/tune_request.h"
#include "tuner/worker.h"
#include "tuner/worker_pool.h"

namespace gemm_tune {
namespace {

constexpr std::chrono::seconds kCompileLimit{120};

void line(const std::string& name, const std::string& value) {
  fmt::print("  {:<22}{}\n", name, value);
}

// The named config, or the database's choice for the problem.
KnownConfig config_to_explain(const Options& options, const Target& target,
                              const Problem& problem) {
  if (!options.config.empty()) return check_config(parse_config(options.config));
  const Database database(database_path(options), Database::Mode::read_only);
  const Choice choice = choose(database, device_key(target.spec), problem);
  if (!choice.config) throw UsageError(choice.explanation);
  return *choice.config;
}

void write_cubin(const std::string& path, const std::string& cubin) {
  std::ofstream out(path, std::ios::binary);
  out << cubin;
  out.close();
  if (!out) throw UsageError("'" + path + "' cannot be written: name a file in a folder that can");
}

CompileReply compile(const Options& options, const Target& target, const KnownConfig& config) {
  const ScratchDir cubins("gemm-tune-explain");
  WorkerPool compiler({compile_worker()});
  const CompileRequest request{to_string(config.config()), target.spec.arch, options.kernel_dir,
                               cubins.path().string()};
  const auto reply = compiler.call("compile", request, kCompileLimit).get<CompileReply>();
  if (reply.ok && !options.cubin.empty()) {
    const std::optional<std::string> cubin = CubinCache(cubins.path()).load(reply.cubin_key);
    if (!cubin) throw Error("the compiled kernel is gone from '" + cubins.path().string() + "'");
    write_cubin(options.cubin, *cubin);
  }
  return reply;
}

void explain_model(const Prediction& p) {
  line("CTAs per SM", fmt::format("{}, occupancy {:.1f} %", p.ctas_per_sm, 100 * p.occupancy));
  line("waves",
       fmt::format("{:.2f}, {:.1f} % of their CTA slots used", p.waves, 100 * p.tail_efficiency));
  line("arithmetic intensity", fmt::format("{:.1f} FLOP per DRAM byte", p.flops_per_dram_byte));
  line("model's terms, us",
       fmt::format("FFMA {:.4g}, issue {:.4g}, L1 {:.4g}, L2 {:.4g}, DRAM {:.4g}, latency {:.4g}",
                   p.ffma_us, p.issue_us, p.l1_us, p.l2_us, p.dram_us, p.latency_us));
  line("model's time", fmt::format("{:.5g} us ({})", p.time_us, kPredictedLabel));
}

void explain_rows(const Options& options, const Target& target, const Problem& problem,
                  const std::string& config) {
  std::optional<Database> database;
  try {
    database.emplace(database_path(options), Database::Mode::read_only);
  } catch (const DatabaseError& error) {
    return line("database", error.what());
  }
  bool found = false;
  for (const Record& row : database->records(device_key(target.spec), problem)) {
    if (row.config != config) continue;
    found = true;
    std::string text =
        fmt::format("{}: {}", to_string(row.source), to_string(row.outcome.disposition));
    if (row.outcome.timing) text += fmt::format(", {:.5g} us", row.outcome.timing->median_us);
    if (!row.outcome.detail.empty()) text += ", " + row.outcome.detail;
    line("database", text + " (" + row.recorded_at + ")");
  }
  if (!found) line("database", "no row for this config, device and problem");
}

// False where there is no kernel to speak of.
bool explain_one(const Options& options, const Target& target, const Problem& problem) {
  const KnownConfig config = config_to_explain(options, target, problem);
  const std::string name = to_string(config.config());
  fmt::print("{}\n  at {} on {} ({}, {} SMs)\n", name, to_string(problem), target.spec.name,
             target.spec.arch, target.spec.sm_count);
  const Traits& t = config.traits;
  line("CTA", fmt::format("{} x {} outputs in K slices of {}, {} threads of {} x {}", t.tile_m,
                          t.tile_n, t.tile_k, t.threads, t.thread_m, t.thread_n));
  line("shared memory", fmt::format("{} bytes per CTA", t.smem_bytes));
  if (auto reason = reject_before_compile(config, problem, target.spec)) {
    line("rejected by rule", std::string(*reason));
    if (auto legal = legal_for(config, problem); legal && legal->is_twin) {
      line("legal twin", to_string(legal->config.config()));
    }
    return false;
  }
  if (auto reason = reject_needless(config, problem, target.spec))
    line("left out", std::string(*reason));
  const CompileReply compiled = compile(options, target, config);
  if (!compiled.ok) {
    line("compile failed", compiled.log);
    return false;
  }
  const Resources resources = complete_resources(compiled.resources, config, target.spec);
  line("compiled", fmt::format("{} registers, {} bytes spilled, {} bytes of stack",
                               resources.registers, resources.spill_bytes, resources.stack_bytes));
  const Occupancy fit = occupancy(target.spec, config.recipe.block_threads, resources.registers,
                                  resources.smem_bytes);
  line("limited by", std::string(to_string(fit.limiter)));
  if (auto reason = reject_after_compile(resources)) line("rejected by resources", *reason);
  explain_model(predict(t, problem, target.spec, resources));
  explain_rows(options, target, problem, name);
  return true;
}

}  // namespace

int run_explain(const Options& options) {
  const std::vector<Problem> problems = asked_problems(options);
  if (!options.config.empty()) check_config(parse_config(options.config));
  if (!options.cubin.empty() && problems.size() != 1) {
    throw UsageError("--cubin takes one kernel: give one size");
  }
  const Target target = resolve_target(options);
  bool all = true;
  for (const Problem& problem : problems) all = explain_one(options, target, problem) && all;
  return all || options.cubin.empty() ? kExitOk : kExitNothingSurvived;
}

}  // namespace gemm_tune
