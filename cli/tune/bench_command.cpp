// SPDX-License-Identifier: Apache-2.0
// gemm-tune bench: times the database's winners beside every baseline. Stores nothing.
#include <spdlog/fmt/fmt.h>

#include <algorithm>

#include "choose/choose.h"
#include "cli/arguments/database.h"
#include "cli/arguments/kernel_dir.h"
#include "cli/arguments/target.h"
#include "cli/commands.h"
#include "cli/output/exit_code.h"
#include "cli/output/signals.h"
#include "cli/output/standard_output.h"
#include "cli/tune/request.h"
#include "core/error.h"
#include "tuner/agents/one_machine.h"
#include "tuner/job/log.h"
#include "tuner/report/bench_table.h"
#include "tuner/report/progress.h"

namespace gemm_tune {
namespace {

struct BenchOptions : KernelOptions {
  void declare(CLI::App& app) { add_kernel_options(app, *this); }
};

// The winners that were measured on the device, by the database's order.
std::vector<Benched> measured_winners(const Database& database, const KernelRevisions& revisions,
                                      const DeviceSpec& device) {
  std::vector<Benched> all;
  for (const Winner& winner : load_winners(database, device.arch, revisions)) {
    const Record& row = winner.record;
    if (row.source != Source::measured || row.device != device_key(device)) continue;
    all.push_back({row.problem, winner.config});
  }
  return all;
}

// The asked problems with their winners, where there are some: where only a problem with other
// operands aligned least was tuned, that one's winner or the specialisation that serves.
std::vector<Benched> asked_winners(const std::vector<Problem>& problems,
                                   const std::vector<Benched>& winners) {
  std::vector<Benched> all;
  for (const Problem& problem : problems) {
    const auto tuned = std::max_element(
        winners.begin(), winners.end(), [&](const Benched& one, const Benched& other) {
          return sameness(one.problem, problem) < sameness(other.problem, problem);
        });
    const bool is_tuned = tuned != winners.end() &&
                          sameness(tuned->problem, problem) != Sameness::none && tuned->config;
    const std::optional<LegalConfig> legal =
        is_tuned ? legal_for(*tuned->config, problem) : std::nullopt;
    all.push_back({problem, legal ? std::optional(legal->config) : std::nullopt});
  }
  return all;
}

int run_bench(const BenchOptions& options) {
  log_to_standard_error(options.verbose);
  std::vector<Problem> problems;
  if (!options.sizes.empty()) problems = asked_problems(options);
  // Any device stands in for the message where there is no GPU.
  const Target target =
      resolve_target(options, {[] { return std::vector{device_key(device_table().front())}; }});
  if (!target.measurable) {
    throw DeviceError("bench times kernels on a GPU and cannot: " + target.why_not);
  }
  const Database database = open_for_reading(options);
  const KernelRevisions revisions = asked_revisions(options.kernel_dir, problems);
  const std::vector<Benched> winners = measured_winners(database, revisions, target.spec);
  const std::vector<Benched> all =
      options.sizes.empty() ? winners : asked_winners(problems, winners);
  const auto is_tuned = [](const Benched& one) { return one.config.has_value(); };
  if (std::none_of(all.begin(), all.end(), is_tuned)) {
    throw NothingFound(with_tune_command(fmt::format("'{}' has no winner to time on {}: tune first",
                                                     database.path().string(), target.spec.name),
                                         options));
  }
  TuneRequest request = search_request({}, options.kernel_dir, target, {});
  request.baselines.assign(kBaselineKinds.begin(), kBaselineKinds.end());
  request.interruption = watch_for_signals();
  if (!options.json) print_text(bench_head());
  const std::vector<BenchRow> rows = bench(request, all, [&](const BenchRow& row) {
    if (options.json) return;
    print_text(bench_lines(row));
    flush_standard_output();
  });
  if (options.json) {
    nlohmann::json json = bench_json(rows);
    json["arch"] = target.spec.arch;
    json["device"] = target.spec.name;
    print_json(json);
  } else {
    print_text(bench_end(rows));
  }
  if (rows.size() < all.size()) return kExitInterrupted;
  return std::all_of(all.begin(), all.end(), is_tuned) ? kExitOk : kExitNothingSurvived;
}

}  // namespace

void add_bench(CLI::App& app, Call& call) { attach<BenchOptions>(app, call, run_bench); }

}  // namespace gemm_tune
