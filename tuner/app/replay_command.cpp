// SPDX-License-Identifier: Apache-2.0
// gemm-tune replay: runs a search strategy on recorded sweeps, as if it ran on the recorded GPU. A
// config that failed there costs one evaluation. A run learns nothing from earlier runs.
#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <chrono>
#include <deque>
#include <functional>
#include <limits>
#include <nlohmann/json.hpp>

#include "core/error.h"
#include "search/strategy_by_name.h"
#include "tuner/app/commands.h"
#include "tuner/app/exit_code.h"
#include "tuner/app/output_file.h"
#include "tuner/app/standard_output.h"
#include "tuner/app/sweep.h"
#include "tuner/app/target.h"
#include "tuner/report/slow_work.h"

namespace gemm_tune {
namespace {

constexpr std::size_t kDefaultBudget = 200;
constexpr std::size_t kCheckpoints[] = {10, 25, 50, 100, 200, 400};

// The computing time of the strategy itself, in seconds.
struct Thinking {
  double total = 0, longest = 0;
  std::size_t count = 0;

  void add(double seconds) {
    total += seconds;
    longest = std::max(longest, seconds);
    ++count;
  }
  double mean_ms() const { return count == 0 ? 0 : 1000 * total / static_cast<double>(count); }
};

struct Replay {
  std::vector<std::vector<std::size_t>> runs;  // the points in the order of their evaluation
  Thinking steps, refits;                      // a step is an ask and a tell
};

using SteadyClock = std::chrono::steady_clock;

double seconds_since(SteadyClock::time_point start) {
  return std::chrono::duration<double>(SteadyClock::now() - start).count();
}

// One run with `in_flight` evaluations at once, which end in the order in which they began. each:
// called with the number of every evaluation.
std::vector<std::size_t> run_once(Strategy& strategy, const Sweep& sweep, std::size_t budget,
                                  std::size_t in_flight,
                                  const std::function<void(std::size_t)>& each, Replay& replay) {
  std::vector<std::size_t> done;
  std::deque<std::size_t> running;
  bool exhausted = false;
  while (true) {
    each(done.size() + 1);
    const std::size_t fits_before = strategy.fits();
    const SteadyClock::time_point start = SteadyClock::now();
    while (!exhausted && running.size() < in_flight && done.size() + running.size() < budget) {
      const std::vector<std::size_t> asked = strategy.ask(1);
      exhausted = asked.empty();
      running.insert(running.end(), asked.begin(), asked.end());
    }
    if (running.empty()) return done;
    const std::size_t point = running.front();
    running.pop_front();
    done.push_back(point);
    strategy.tell(point, sweep.time_us[point]);
    (strategy.fits() > fits_before ? replay.refits : replay.steps).add(seconds_since(start));
  }
}

// The optimum over the best of the first n evaluations; 0 if none of them is valid.
double ratio_after(const Sweep& sweep, const std::vector<std::size_t>& run, std::size_t n) {
  const auto best_of = [](double best, const std::optional<double>& time) {
    return time ? std::min(best, *time) : best;
  };
  double best = std::numeric_limits<double>::infinity(), optimum = best;
  for (std::size_t i = 0; i < std::min(n, run.size()); ++i) {
    best = best_of(best, sweep.time_us[run[i]]);
  }
  for (const auto& time : sweep.time_us) optimum = best_of(optimum, time);
  return optimum / best;
}

// Interpolates linearly between ranks.
double percentile(std::vector<double> values, double share) {
  std::sort(values.begin(), values.end());
  const double rank = share * static_cast<double>(values.size() - 1);
  const auto low = static_cast<std::size_t>(rank);
  const std::size_t high = std::min(low + 1, values.size() - 1);
  return values[low] + (values[high] - values[low]) * (rank - static_cast<double>(low));
}

struct Score {
  std::size_t evaluations;
  double mean, tenth;
};

std::vector<Score> scores(const Sweep& sweep, const Replay& replay, std::size_t budget) {
  std::vector<Score> all;
  std::vector<std::size_t> checkpoints;
  for (const std::size_t n : kCheckpoints) {
    if (n < budget) checkpoints.push_back(n);
  }
  checkpoints.push_back(budget);
  for (const std::size_t n : checkpoints) {
    std::vector<double> ratios;
    for (const auto& run : replay.runs) ratios.push_back(ratio_after(sweep, run, n));
    double sum = 0;
    for (const double ratio : ratios) sum += ratio;
    all.push_back({n, sum / static_cast<double>(ratios.size()), percentile(ratios, 0.1)});
  }
  return all;
}

std::string text_of(const Sweep& sweep, const Replay& replay, std::size_t budget) {
  const auto failed = std::count(sweep.time_us.begin(), sweep.time_us.end(), std::nullopt);
  std::string text = fmt::format("{}: {} configs, {} failed; {} runs of {}\n", sweep.name,
                                 sweep.space.size(), failed, replay.runs.size(), budget);
  for (const Score& score : scores(sweep, replay, budget)) {
    text += fmt::format("  after {:<4} {:.3f} of the optimum, 10th percentile {:.3f}\n",
                        score.evaluations, score.mean, score.tenth);
  }
  text += fmt::format("  a step {:.2f} ms, {:.1f} at most", replay.steps.mean_ms(),
                      1000 * replay.steps.longest);
  if (replay.refits.count > 0) {
    text += fmt::format(
        "; a refit {:.1f} ms, {:.1f} at most, {:.1f} a run", replay.refits.mean_ms(),
        1000 * replay.refits.longest,
        static_cast<double>(replay.refits.count) / static_cast<double>(replay.runs.size()));
  }
  return text + "\n";
}

nlohmann::json json_of(const Sweep& sweep, const Replay& replay, std::size_t budget) {
  nlohmann::json ratios = nlohmann::json::array();
  for (const Score& score : scores(sweep, replay, budget)) {
    ratios.push_back(
        {{"evaluations", score.evaluations}, {"mean", score.mean}, {"tenth", score.tenth}});
  }
  return {{"space", sweep.name},
          {"configs", sweep.space.size()},
          {"runs", replay.runs.size()},
          {"ratios", ratios},
          {"step_ms", replay.steps.mean_ms()},
          {"refit_ms", replay.refits.mean_ms()}};
}

void require_trace(const Options& options) {
  require_writable(options.trace);
  for (const std::string& sweep : options.sweeps) {
    std::error_code error;
    if (!std::filesystem::equivalent(options.trace, sweep, error)) continue;
    throw UsageError("--trace names the sweep '" + sweep +
                     "', which is not replaced: name another file");
  }
}

std::string trace_of(const Sweep& sweep, const Replay& replay, const std::string& strategy,
                     std::size_t budget) {
  std::string lines;
  for (std::size_t repeat = 0; repeat < replay.runs.size(); ++repeat) {
    nlohmann::json keys = nlohmann::json::array();
    for (const std::size_t point : replay.runs[repeat]) keys.push_back(sweep.keys[point]);
    const nlohmann::json line = {{"space", sweep.name},
                                 {"repeat", repeat},
                                 {"strategy", strategy},
                                 {"budget", budget},
                                 {"evals", keys}};
    lines += line.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
  }
  return lines;
}

std::vector<double> prior_for(const Sweep& sweep, const Options& options,
                              const std::vector<Sweep>& sweeps, const std::vector<Sweep>& priors) {
  if (options.prior == "model") return transferred_prior(sweep, {});
  if (options.prior == "others") {
    std::vector<const Sweep*> others;
    for (const Sweep& other : sweeps) {
      if (&other != &sweep) others.push_back(&other);
    }
    return transferred_prior(sweep, others);
  }
  if (options.prior == "none") return {};
  for (const Sweep& prior : priors) {
    if (prior.name == sweep.name) {
      throw UsageError("the prior '" + prior.name + "' is the sweep that it would foretell");
    }
  }
  return prior_from(priors.front(), sweep);
}

}  // namespace

int run_replay(const Options& options) {
  std::vector<Sweep> sweeps, priors;
  SlowWork progress(options.quiet, "reading sweeps");
  for (const std::string& path : options.sweeps) {
    progress.now_at("reading '" + path + "'");
    for (Sweep& sweep : read_sweeps(path, lock_wait(options, path))) {
      sweeps.push_back(std::move(sweep));
    }
  }
  const bool from_file =
      options.prior != "none" && options.prior != "model" && options.prior != "others";
  if (from_file) {
    progress.now_at("reading '" + options.prior + "'");
    priors = read_sweeps(options.prior, lock_wait(options, options.prior));
    if (priors.size() > 1) {
      throw UsageError("the prior '" + options.prior + "' holds " + std::to_string(priors.size()) +
                       " sweeps: name a file that holds one");
    }
  }
  const std::size_t asked = options.budget.empty() ? kDefaultBudget : parse_budget(options.budget);
  const std::uint64_t seed = options.seed.value_or(1);
  const std::string label =
      options.prior == "none" ? options.strategy : options.strategy + ", with a prior";

  std::vector<std::vector<double>> prior_times;  // all are read before a file is written
  for (const Sweep& sweep : sweeps) {
    prior_times.push_back(prior_for(sweep, options, sweeps, priors));
  }
  if (!options.trace.empty()) require_trace(options);
  std::string trace;
  nlohmann::json all = nlohmann::json::array();
  for (std::size_t i = 0; i < sweeps.size(); ++i) {
    const Sweep& sweep = sweeps[i];
    const std::size_t budget = std::min(asked, sweep.space.size());
    Replay replay;
    const std::string where = fmt::format("{} (sweep {} of {})", sweep.name, i + 1, sweeps.size());
    for (int repeat = 0; repeat < options.repeats; ++repeat) {
      progress.now_at(fmt::format("{}: run {} of {} begins", where, repeat + 1, options.repeats));
      const auto strategy = make_strategy(options.strategy, sweep.space, prior_times[i], budget,
                                          seed + static_cast<std::uint64_t>(repeat));
      const auto each = [&](std::size_t done) {
        progress.now_at(fmt::format("{}: run {} of {}, evaluation {} of {}", where, repeat + 1,
                                    options.repeats, done, budget));
      };
      replay.runs.push_back(run_once(*strategy, sweep, budget,
                                     static_cast<std::size_t>(options.in_flight), each, replay));
    }
    if (!options.trace.empty()) trace += trace_of(sweep, replay, label, budget);
    if (options.json) {
      all.push_back(json_of(sweep, replay, budget));
    } else {
      progress.clear();
      print_text(text_of(sweep, replay, budget));
    }
  }
  if (options.json) print_json(all);
  if (!options.trace.empty()) write_output(options.trace, trace);
  return kExitOk;
}

}  // namespace gemm_tune
