// SPDX-License-Identifier: Apache-2.0
#include "cli/tune/dry_run.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <exception>
#include <filesystem>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <thread>
#include <utility>
#include <vector>

#include "choose/builtin_config.h"
#include "cli/arguments/database.h"
#include "cli/output/exit_code.h"
#include "cli/output/standard_output.h"
#include "cli/tune/request.h"
#include "core/text/printable.h"
#include "core/text/quantity.h"
#include "core/usable_cpus.h"
#include "search/model/static_model.h"
#include "tuner/plan/plan.h"
#include "tuner/process/scratch_dir.h"
#include "tuner/report/problem_json.h"
#include "tuner/report/report.h"
#include "tuner/report/slow_work.h"
#include "tuner/report/summary.h"
#include "tuner/work/protocol.h"

namespace gemm_tune {
namespace {

// Candidates that a search would probably try, and their times.
struct Likely {
  std::vector<KnownConfig> first;
  double median_us = 0;
};

// The retries, and of a sample of the others those that the static model expects to be the fastest.
Likely likely(const PlannedSearch& planned, const DeviceSpec& device) {
  const std::size_t others = planned.untried.size() - planned.retried;
  const std::size_t looked_at = std::max<std::size_t>(8192, 4 * planned.tries());
  const std::size_t step = std::max<std::size_t>(1, others / looked_at);
  std::vector<std::pair<double, std::size_t>> timed;
  for (std::size_t i = planned.retried; i < planned.untried.size(); i += step) {
    const KnownConfig config = planned.points[planned.untried[i]];
    timed.emplace_back(predict(config.traits, planned.problem, device).time_us, i);
  }
  const std::size_t tries = std::min(planned.tries() - planned.retried, timed.size());
  std::partial_sort(timed.begin(), timed.begin() + static_cast<std::ptrdiff_t>(tries), timed.end());
  timed.resize(tries);
  Likely result;
  if (tries > 0) result.median_us = timed[tries / 2].first;
  for (std::size_t i = 0; i < planned.retried; ++i) {
    result.first.push_back(planned.points[planned.untried[i]]);
  }
  for (const auto& [us, i] : timed) result.first.push_back(planned.points[planned.untried[i]]);
  return result;
}

// What is kept of a planned search; its candidates are many.
struct Planned {
  PlannedSearch search;  // without points
  Likely likely;
};

Planned planned(const TuneRequest& request, const Problem& problem, Database& database,
                SpaceMemory& memory, std::recursive_mutex& turn) {
  Planned kept{plan_search(request, problem, database, memory, &turn), {}};
  kept.likely = likely(kept.search, request.device);
  kept.search.points = {};
  kept.search.untried = {};
  return kept;
}

// Plans all problems, on all cores: enumerating a problem's candidates takes a good part of a
// second.
std::vector<Planned> plan_all(const TuneRequest& request, Database& database, bool quiet) {
  const std::size_t count = request.problems.size();
  std::vector<std::optional<Planned>> all(count);
  std::recursive_mutex turn;
  std::atomic<std::size_t> next = 0, done = 0;
  std::exception_ptr error;
  SlowWork progress(quiet, "planning");
  const auto work = [&] {
    SpaceMemory memory;
    try {
      for (std::size_t i = next++; i < count; i = next++) {
        all[i] = planned(request, request.problems[i], database, memory, turn);
        progress.now_at(fmt::format("planned {} of {}", ++done, counted(count, "problem")));
      }
    } catch (...) {  // the thread's edge
      const std::lock_guard lock(turn);
      if (!error) error = std::current_exception();
      next = count;
    }
  };
  {
    std::vector<std::jthread> threads;
    const std::size_t cores = usable_cpus();
    for (std::size_t i = 1; i < std::min(cores, count); ++i) threads.emplace_back(work);
    work();
  }
  if (error) std::rethrow_exception(error);
  std::vector<Planned> result;
  for (std::optional<Planned>& one : all) result.push_back(*std::move(one));
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

  void add(const Planned& planned) {
    for (const KnownConfig& config : planned.likely.first) {
      // A run compiles a config once for all problems.
      if (!compiled_.insert(to_string(config.config())).second) continue;
      const auto stored = stored_compile_s_.find(config.family->name);
      const bool is_stored = stored != stored_compile_s_.end();
      compile_s_ += is_stored ? stored->second : config.family->compile_seconds;
      if (!is_stored) ++guessed_;
    }
    measure_s_ += static_cast<double>(planned.search.tries()) * gpu_seconds(planned);
  }

  // The source of seconds(), as the end of a sentence.
  std::string basis() const {
    if (compiled_.empty()) return "0: nothing is left to compile";
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
    const std::size_t cores = usable_cpus();
    const double compile = compile_s_ / static_cast<double>(std::min(request_.jobs, cores));
    if (!request_.measure) return compile;
    return std::max(compile, measure_s_ / static_cast<double>(request_.ordinals.size()));
  }

 private:
  // For one candidate.
  double gpu_seconds(const Planned& planned) const {
    const auto stored = database_.gpu_seconds(device_key(request_.device), planned.search.problem);
    if (stored) return *stored;
    constexpr double kOverheadSeconds = 0.015;  // loading and verifying at small shapes
    constexpr double kLaunches = 15;  // warm-up, verification and samples at the tuned shape
    const double launch_us = std::max(planned.likely.median_us, 20.0);
    return kOverheadSeconds + kLaunches * launch_us * 1e-6;
  }

  const TuneRequest& request_;
  const Database& database_;
  const std::map<std::string, double> stored_compile_s_;  // mean times, by family
  std::set<std::string> compiled_;
  std::size_t guessed_ = 0;               // of these: without a stored time
  double compile_s_ = 0, measure_s_ = 0;  // summed over processes and over GPUs
};

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
  std::string none;
  if (funnel.left == 0) {
    const bool has_kernels =
        builtin_config(types, planned.problem.layout, target.spec.arch).has_value();
    none = has_kernels
               ? "  " + why_none_left(funnel) + "\n"
               : fmt::format("  {} has no kernel of {}\n", target.spec.arch, to_string(types));
  }
  if (const std::string note = beyond_memory(planned.problem, target.spec); !note.empty()) {
    none += "  " + note + "\n";
  }
  return fmt::format(
      "{} on {} ({}): {} enumerated, {} rejected by rule, {} left{}{}, {} would be tried{}\n{}",
      to_string(planned.problem), printable(target.spec.name), target.spec.arch,
      grouped(funnel.enumerated), grouped(total(funnel.rejected_by_rule)), grouped(funnel.left),
      sample, stored, grouped(planned.tries()), again, none);
}

// In the unit that fits: "about 39 s", "about 18 min", "about 2.5 h".
std::string rough_text(double seconds) {
  if (seconds > 0 && seconds < 1) return "less than 1 s";
  if (seconds < 120) return fmt::format("about {:.0f} s", seconds);
  if (seconds < 7200) return fmt::format("about {:.0f} min", seconds / 60);
  return fmt::format("about {:.1f} h", seconds / 3600);
}

}  // namespace

Database database_to_read(const std::filesystem::path& path, const ScratchDir& folder) {
  std::error_code ignored;
  const bool is_there = std::filesystem::exists(path, ignored);
  const bool is_empty = is_there && std::filesystem::file_size(path, ignored) == 0;
  if (is_there && !is_empty) return Database(path, Database::Mode::read_only);
  return Database(folder.path() / "empty.db", Database::Mode::create_or_open);
}

int dry_run(const TuneRequest& request, const Target& target, const TuneOptions& options,
            Database& database) {
  Estimate estimate(request, database);
  std::string text;
  nlohmann::json problems = nlohmann::json::array();
  bool all_have_candidates = true;
  for (const Planned& one : plan_all(request, database, options.quiet)) {
    const PlannedSearch& planned = one.search;
    const Funnel& funnel = planned.funnel;
    all_have_candidates = all_have_candidates && funnel.left > 0;
    text += line_of(planned, target);
    problems.push_back({{"problem", planned.problem},
                        {"enumerated", funnel.enumerated},
                        {"rejected_by_rule", total(funnel.rejected_by_rule)},
                        {"left", funnel.left},
                        {"searched", funnel.searched},
                        {"known", planned.recalled},
                        {"would_be_tried", planned.tries()},
                        {"retried", planned.retried}});
    estimate.add(one);
  }
  const int exit_code = all_have_candidates ? kExitOk : kExitNothingSurvived;
  if (options.json) {
    print_json({{"problems", problems},
                {"arch", target.spec.arch},
                {"device", target.spec.name},
                {"estimated_s", estimate.seconds()},
                {"estimated_from", estimate.basis()},
                {"jobs", request.jobs},
                {"model_measured_on", model_measured_on(target.spec)},
                {"source", to_string(request.measure ? Source::measured : Source::predicted)}});
    return exit_code;
  }
  print_fitted(
      fmt::format("{}{} with {} compile processes, {}; nothing was compiled\nthe time is {}\n",
                  text, rough_text(estimate.seconds()), request.jobs,
                  request.measure ? "timed on the GPU" : kPredictedLabel, estimate.basis()));
  const std::optional<std::chrono::duration<double>> limit = request.time_limit;
  if (limit && limit->count() < estimate.seconds()) {
    print_fitted("--time " + options.time + " ends the run before all of these are tried\n");
  }
  if (const std::string note = card_note(target); !note.empty()) print_fitted(note);
  if (const std::string note = unmeasured_model(target.spec); !note.empty()) {
    print_fitted(note + "\n");
  }
  if (const std::string note = unexecuted_kernels(target.spec); !note.empty() && !request.measure) {
    print_fitted("the kernels: " + note + "\n");
  }
  return exit_code;
}

}  // namespace gemm_tune
