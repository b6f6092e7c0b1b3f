// SPDX-License-Identifier: Apache-2.0
#include "research/replay.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <deque>
#include <limits>
#include <optional>
#include <random>

#include "research/classics.h"

namespace gemm_tune {
namespace {

constexpr std::size_t kCheckpoints[] = {10, 25, 50, 100, 200, 400};

using SteadyClock = std::chrono::steady_clock;

double seconds_since(SteadyClock::time_point start) {
  return std::chrono::duration<double>(SteadyClock::now() - start).count();
}

std::vector<std::size_t> run_once(Strategy& strategy, const Sweep& sweep, const ReplayRule& rule,
                                  Replay& replay) {
  std::vector<std::size_t> done;
  std::deque<std::size_t> running;
  bool exhausted = false, settled = false;
  while (true) {
    const std::size_t fits_before = strategy.fits();
    const SteadyClock::time_point start = SteadyClock::now();
    while (!exhausted && !settled && running.size() < rule.in_flight &&
           done.size() + running.size() < replay.budget) {
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
    const std::optional<Outlook> outlook = rule.stops ? strategy.outlook() : std::nullopt;
    settled =
        outlook && StopRule().is_over(*outlook, rule.is_near_known);  // the next may change it
    if (!settled) continue;
    // As tuner/job/search.cpp has it, as if nothing of it were compiled.
    const std::optional<double> gain = strategy.gain_under_way();
    if (gain && (rule.is_near_known || *gain < StopRule().worth_waiting)) return done;
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

std::vector<double> with_noise(std::vector<double> prior_us, double deviation, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::normal_distribution<double> normal(0, deviation);
  for (double& us : prior_us) us *= std::exp(normal(random));
  return prior_us;
}

// Interpolates linearly between ranks.
double percentile(std::vector<double> values, double share) {
  std::sort(values.begin(), values.end());
  const double rank = share * static_cast<double>(values.size() - 1);
  const auto low = static_cast<std::size_t>(rank);
  const std::size_t high = std::min(low + 1, values.size() - 1);
  return values[low] + (values[high] - values[low]) * (rank - static_cast<double>(low));
}

}  // namespace

void Thinking::add(double seconds) {
  total += seconds;
  longest = std::max(longest, seconds);
  ++count;
}

Replay replay(const Sweep& sweep, const std::vector<double>& prior_us, const ReplayRule& rule) {
  Replay replay;
  replay.budget = std::min(rule.budget, sweep.space.size());
  for (std::uint64_t repeat = 0; repeat < rule.repeats; ++repeat) {
    const std::uint64_t seed = rule.seed + repeat;
    const auto strategy =
        make_studied(rule.strategy, sweep.space,
                     rule.prior_noise > 0 ? with_noise(prior_us, rule.prior_noise, seed) : prior_us,
                     replay.budget, seed);
    replay.runs.push_back(run_once(*strategy, sweep, rule, replay));
  }
  return replay;
}

std::vector<Score> scores(const Sweep& sweep, const Replay& replay) {
  std::vector<std::size_t> checkpoints;
  for (const std::size_t n : kCheckpoints) {
    if (n < replay.budget) checkpoints.push_back(n);
  }
  checkpoints.push_back(replay.budget);
  std::vector<Score> all;
  for (const std::size_t n : checkpoints) {
    std::vector<double> ratios;
    for (const auto& run : replay.runs) ratios.push_back(ratio_after(sweep, run, n));
    double sum = 0;
    for (const double ratio : ratios) sum += ratio;
    all.push_back({n, sum / static_cast<double>(ratios.size()), percentile(ratios, 0.1)});
  }
  return all;
}

Ends ends(const Sweep& sweep, const Replay& replay) {
  std::vector<std::size_t> lengths;
  std::vector<double> regrets;
  double sum = 0;
  for (const auto& run : replay.runs) {
    lengths.push_back(run.size());
    regrets.push_back(1 / ratio_after(sweep, run, run.size()) - 1);
    sum += regrets.back();
  }
  std::sort(lengths.begin(), lengths.end());
  return {lengths.front(),
          lengths[lengths.size() / 2],
          lengths.back(),
          percentile(regrets, 0.5),
          sum / static_cast<double>(regrets.size()),
          percentile(regrets, 1)};
}

std::string text_of(const Sweep& sweep, const Replay& replay) {
  const auto failed = std::count(sweep.time_us.begin(), sweep.time_us.end(), std::nullopt);
  std::string text = fmt::format("{}: {} configs, {} failed; {} runs of {}\n", sweep.name,
                                 sweep.space.size(), failed, replay.runs.size(), replay.budget);
  for (const Score& score : scores(sweep, replay)) {
    text += fmt::format("  after {:<4} {:.3f} of the optimum, 10th percentile {:.3f}\n",
                        score.evaluations, score.mean, score.tenth);
  }
  const Ends end = ends(sweep, replay);
  text += fmt::format(
      "  ended after {} to {}, median {}, behind the optimum by {:.2f} % in the median, {:.2f} in "
      "the "
      "mean, {:.2f} at worst\n",
      end.least, end.most, end.median, 100 * end.median_regret, 100 * end.mean_regret,
      100 * end.worst_regret);
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

nlohmann::json json_of(const Sweep& sweep, const Replay& replay) {
  nlohmann::json ratios = nlohmann::json::array();
  for (const Score& score : scores(sweep, replay)) {
    ratios.push_back(
        {{"evaluations", score.evaluations}, {"mean", score.mean}, {"tenth", score.tenth}});
  }
  const Ends end = ends(sweep, replay);
  return {{"space", sweep.name},
          {"configs", sweep.space.size()},
          {"runs", replay.runs.size()},
          {"ratios", ratios},
          {"evaluations", {{"least", end.least}, {"median", end.median}, {"most", end.most}}},
          {"regret",
           {{"median", end.median_regret}, {"mean", end.mean_regret}, {"worst", end.worst_regret}}},
          {"step_ms", replay.steps.mean_ms()},
          {"refit_ms", replay.refits.mean_ms()}};
}

std::string trace_of(const Sweep& sweep, const Replay& replay, const std::string& strategy) {
  std::string lines;
  for (std::size_t repeat = 0; repeat < replay.runs.size(); ++repeat) {
    nlohmann::json keys = nlohmann::json::array();
    for (const std::size_t point : replay.runs[repeat]) keys.push_back(sweep.keys[point]);
    const nlohmann::json line = {{"space", sweep.name},
                                 {"repeat", repeat},
                                 {"strategy", strategy},
                                 {"budget", replay.budget},
                                 {"evals", keys}};
    lines += line.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
  }
  return lines;
}

}  // namespace gemm_tune
