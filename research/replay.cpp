// SPDX-License-Identifier: Apache-2.0
#include "research/replay.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <chrono>
#include <deque>
#include <limits>
#include <optional>

#include "research/classics.h"

namespace gemm_tune {
namespace {

constexpr std::size_t kCheckpoints[] = {10, 25, 50, 100, 200, 400};

using SteadyClock = std::chrono::steady_clock;

double seconds_since(SteadyClock::time_point start) {
  return std::chrono::duration<double>(SteadyClock::now() - start).count();
}

std::vector<std::size_t> run_once(Strategy& strategy, const Sweep& sweep, std::size_t in_flight,
                                  Replay& replay) {
  std::vector<std::size_t> done;
  std::deque<std::size_t> running;
  bool exhausted = false;
  while (true) {
    const std::size_t fits_before = strategy.fits();
    const SteadyClock::time_point start = SteadyClock::now();
    while (!exhausted && running.size() < in_flight &&
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
    const auto strategy =
        make_studied(rule.strategy, sweep.space, prior_us, replay.budget, rule.seed + repeat);
    replay.runs.push_back(run_once(*strategy, sweep, rule.in_flight, replay));
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

std::string text_of(const Sweep& sweep, const Replay& replay) {
  const auto failed = std::count(sweep.time_us.begin(), sweep.time_us.end(), std::nullopt);
  std::string text = fmt::format("{}: {} configs, {} failed; {} runs of {}\n", sweep.name,
                                 sweep.space.size(), failed, replay.runs.size(), replay.budget);
  for (const Score& score : scores(sweep, replay)) {
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

nlohmann::json json_of(const Sweep& sweep, const Replay& replay) {
  nlohmann::json ratios = nlohmann::json::array();
  for (const Score& score : scores(sweep, replay)) {
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
