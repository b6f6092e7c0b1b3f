// SPDX-License-Identifier: Apache-2.0
#include "tuner/app/dry_run.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <thread>
#include <utility>

#include "choose/choose.h"
#include "search/static_model.h"
#include "tuner/app/exit_code.h"
#include "tuner/app/requests.h"
#include "tuner/app/standard_output.h"
#include "tuner/job/plan.h"
#include "tuner/report/report.h"
#include "tuner/work/protocol.h"
#include "tuner/work/scratch_dir.h"

namespace gemm_tune {
namespace {

// Average compile times of NVRTC 13.0 on one core of a server, over configs that searches on an
// H100 tried: from 0.2 s (skinny) to 2.2 s (warp_tiled).
double guessed_compile_seconds(const std::string& family) {
  if (family == "warp_tiled") return 1.0;
  return family == "skinny" ? 0.3 : 0.6;
}

// The candidates in the order in which a search would probably try them, and their times.
struct Likely {
  std::vector<std::size_t> first;  // of planned.untried
  double median_us = 0;
};

Likely likely(const PlannedSearch& planned, const DeviceSpec& device) {
  const auto count = static_cast<std::ptrdiff_t>(planned.tries());
  std::vector<double> times;
  for (const std::size_t point : planned.untried) {
    const KnownConfig config = planned.points[point];
    times.push_back(predict(config.traits, planned.problem, device).time_us);
  }
  Likely result;
  result.first.resize(times.size());
  std::iota(result.first.begin(), result.first.end(), std::size_t{0});
  std::partial_sort(result.first.begin() + static_cast<std::ptrdiff_t>(planned.retried),
                    result.first.begin() + count, result.first.end(),
                    [&](std::size_t a, std::size_t b) { return times[a] < times[b]; });
  result.first.resize(planned.tries());
  if (!result.first.empty()) result.median_us = times[result.first[result.first.size() / 2]];
  return result;
}

// The time in seconds on the compile processes or on the GPUs, whichever is longer. Uses stored
// times of the database where it has them, else guesses.
class Estimate {
 public:
  Estimate(const TuneRequest& request, const Database& database)
      : request_(request),
        database_(database),
        stored_compile_s_(database.compile_seconds(host_name(), request.cuda_version)) {}

  void add(const PlannedSearch& planned) {
    const Likely tries = likely(planned, request_.device);
    for (const std::size_t i : tries.first) {
      const KnownConfig config = planned.points[planned.untried[i]];
      // A run compiles a config once for all problems.
      if (!compiled_.insert(to_string(config.config())).second) continue;
      const std::string family = config.family->name;
      const auto stored = stored_compile_s_.find(family);
      const bool is_stored = stored != stored_compile_s_.end();
      compile_s_ += is_stored ? stored->second : guessed_compile_seconds(family);
      if (!is_stored) ++guessed_;
    }
    measure_s_ += static_cast<double>(planned.tries()) * gpu_seconds(planned, tries);
  }

  // The source of seconds(), as the end of a sentence.
  std::string basis() const {
    if (compiled_.empty()) return "none: there is nothing to compile";
    const std::string guess =
        "a guess, not measured on this machine: 0.3 to 1 s to compile a candidate, by its family";
    if (guessed_ == compiled_.size()) return guess;
    const std::string stored =
        "that of compilations by this machine that the database has stored, by their family";
    if (guessed_ == 0) return stored;
    return fmt::format("{}; for {} of {} candidates {}", stored, grouped(guessed_),
                       grouped(compiled_.size()), guess);
  }

  double seconds() const {
    const std::size_t cores = std::max(1u, std::thread::hardware_concurrency());
    const double compile = compile_s_ / static_cast<double>(std::min(request_.jobs, cores));
    if (!request_.measure) return compile;
    return std::max(compile, measure_s_ / static_cast<double>(request_.ordinals.size()));
  }

 private:
  // For one candidate.
  double gpu_seconds(const PlannedSearch& planned, const Likely& tries) const {
    const auto stored = database_.gpu_seconds(device_key(request_.device), planned.problem);
    if (stored) return *stored;
    constexpr double kOverheadSeconds = 0.015;  // loading and verifying at small shapes
    constexpr double kLaunches = 15;  // warm-up, verification and samples at the tuned shape
    const double launch_us = std::max(tries.median_us, 20.0);
    return kOverheadSeconds + kLaunches * launch_us * 1e-6;
  }

  const TuneRequest& request_;
  const Database& database_;
  const std::map<std::string, double> stored_compile_s_;  // mean times, by family
  std::set<std::string> compiled_;
  std::size_t guessed_ = 0;               // of these: without a stored time
  double compile_s_ = 0, measure_s_ = 0;  // summed over processes and over GPUs
};

// Opens the database read-only. If there is none, or a file of no bytes, which a search would fill,
// opens an empty one in the folder instead.
Database database_to_read(const std::filesystem::path& path, const ScratchDir& folder) {
  std::error_code ignored;
  const bool is_there = std::filesystem::exists(path, ignored);
  const bool is_empty = is_there && std::filesystem::file_size(path, ignored) == 0;
  if (is_there && !is_empty) return Database(path, Database::Mode::read_only);
  return Database(folder.path() / "empty.db", Database::Mode::create_or_open);
}

std::string line_of(const PlannedSearch& planned, const Target& target) {
  const Funnel& funnel = planned.funnel;
  const std::string sample =
      funnel.searched < funnel.left
          ? fmt::format(", {} of these searched (an even sample)", grouped(funnel.searched))
          : "";
  const std::string stored =
      planned.recalled > 0 ? fmt::format(", {} known from earlier runs", grouped(planned.recalled))
                           : "";
  const std::string again =
      planned.retried > 0 ? fmt::format(" ({} again that failed)", grouped(planned.retried)) : "";
  const Signature& types = planned.problem.signature;
  const bool without_kernels = !builtin_config(types, planned.problem.layout, target.spec.arch);
  const std::string none = without_kernels ? fmt::format("  {} has no kernel of {}\n",
                                                         target.spec.arch, to_string(types))
                                           : "";
  return fmt::format(
      "{} on {} ({}): {} enumerated, {} rejected by rule, {} left{}{}, {} would be tried{}\n{}",
      to_string(planned.problem), target.spec.name, target.spec.arch, grouped(funnel.enumerated),
      grouped(total(funnel.rejected_by_rule)), grouped(funnel.left), sample, stored,
      grouped(planned.tries()), again, none);
}

}  // namespace

int dry_run(const TuneRequest& request, const Target& target, const Options& options) {
  const ScratchDir folder("gemm-tune-dry-run");
  Database database = database_to_read(database_path(options), folder);
  Estimate estimate(request, database);
  std::string text;
  nlohmann::json problems = nlohmann::json::array();
  for (const Problem& problem : request.problems) {
    const PlannedSearch planned = plan_search(request, problem, database);
    const Funnel& funnel = planned.funnel;
    text += line_of(planned, target);
    problems.push_back({{"problem", problem},
                        {"enumerated", funnel.enumerated},
                        {"rejected_by_rule", total(funnel.rejected_by_rule)},
                        {"left", funnel.left},
                        {"searched", funnel.searched},
                        {"known", planned.recalled},
                        {"would_be_tried", planned.tries()},
                        {"retried", planned.retried}});
    estimate.add(planned);
  }
  if (options.json) {
    print_json({{"problems", problems},
                {"arch", target.spec.arch},
                {"device", target.spec.name},
                {"estimated_s", estimate.seconds()},
                {"estimated_from", estimate.basis()},
                {"jobs", request.jobs},
                {"model_measured_on", model_measured_on(target.spec, request.problems)},
                {"source", to_string(request.measure ? Source::measured : Source::predicted)}});
    return kExitOk;
  }
  print_fitted(fmt::format(
      "{}about {:.0f} s with {} compile processes, {}; nothing was compiled\nthe time is {}\n",
      text, estimate.seconds(), request.jobs,
      request.measure ? "timed on the GPU" : kPredictedLabel, estimate.basis()));
  if (const std::string note = unmeasured_model(target.spec, request.problems); !note.empty()) {
    print_fitted(note + "\n");
  }
  if (const std::string note = unexecuted_kernels(target.spec); !note.empty() && !request.measure) {
    print_fitted("the kernels: " + note + "\n");
  }
  return kExitOk;
}

}  // namespace gemm_tune
