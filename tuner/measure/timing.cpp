// SPDX-License-Identifier: Apache-2.0
#include "tuner/measure/timing.h"

#include <algorithm>
#include <utility>

namespace gemm_tune {
namespace {

constexpr double kWarmUpUs = 1000;  // at least; the GPU is already at work on the search itself
constexpr double kFirstWarmUpUs = 100e3;  // at least, where its clocks may still be those of idling
constexpr double kMaxWarmUpUs = 300e3;
// NVML is asked during this sample: every timing gets so far, and its card is under load by then.
constexpr std::size_t kConditionsSample = 2;
constexpr std::size_t kConditionsRound = 4;
// So many will do once the cold rounds have taken this long together.
constexpr std::size_t kFewColdRounds = 3;
constexpr double kColdPatienceUs = 1e6;

// Entry of a round's i-th sample: every other round runs backwards, so that the same entry does not
// always follow the same other, and a steady drift favours nobody.
std::size_t turn(std::size_t i, std::size_t round, std::size_t entries) {
  return round % 2 == 0 ? i : entries - 1 - i;
}

}  // namespace

LaunchTimer::LaunchTimer(const Stream& stream, const Nvml& nvml) : stream_(stream), nvml_(nvml) {}

LaunchTimer::Batch LaunchTimer::capture(const Launch& launch, int launches, int copies) const {
  LaunchGraph graph(stream_, [&] {
    for (int i = 0; i < launches; ++i) launch(i % copies);
  });
  return {std::move(graph), launches};
}

LaunchTimer::Sample LaunchTimer::sample(const Batch& batch, bool with_conditions) {
  while (true) {
    head_start_.launch(stream_.get());
    start_.record(stream_.get());
    batch.graph.launch(stream_.get());
    stop_.record(stream_.get());
    // If the GPU is past the start by now it may have waited for the host since.
    const bool may_have_waited = start_.is_done();
    Sample sample{0, nvml_.slowdown(), {}};
    if (with_conditions) sample.conditions = nvml_.conditions();
    stop_.synchronize();
    if (may_have_waited && head_start_.lengthen()) continue;
    sample.us = elapsed_us(start_, stop_) / batch.launches;
    return sample;
  }
}

LaunchTimer::Batch LaunchTimer::warm_up(const Launch& launch, SampleRule rule) {
  const double least_us = is_warm_ ? kWarmUpUs : kFirstWarmUpUs;
  if (!is_warm_) rule.best_us.reset();  // on idle clocks nobody is known to be slow
  is_warm_ = true;
  Batch batch = capture(launch, 1);
  double spent_us = sample(batch).us;
  std::vector<double> means;
  while (spent_us < kMaxWarmUpUs) {
    const double launch_us = sample(batch).us;
    spent_us += launch_us * batch.launches;
    const int needed = launches_per_sample(launch_us);
    if (needed > batch.launches) {
      // A short batch's time holds the graph's own start, so that the first guess is too low.
      batch = capture(launch, std::min(needed + needed / 4, kMaxLaunchesPerSample));
      means.clear();
      continue;
    }
    means.push_back(launch_us);
    if (is_warm(means, spent_us, least_us, rule)) break;
  }
  return batch;
}

Timing LaunchTimer::time(const Launch& launch, const SampleRule& rule) {
  const Batch batch = warm_up(launch, rule);
  Timing timing;
  timing.launches_per_sample = batch.launches;
  std::vector<double>& samples_us = timing.samples_us;
  std::vector<std::string> slowdowns;
  double spent_us = 0;
  for (int retakes = 0; true;) {
    while (!rule.enough(samples_us)) {
      const bool with_conditions = samples_us.size() == kConditionsSample;
      Sample taken = sample(batch, with_conditions);
      if (with_conditions) timing.conditions = taken.conditions;
      spent_us += taken.us * batch.launches;
      samples_us.push_back(taken.us);
      slowdowns.push_back(std::move(taken.slowdown));
    }
    const std::vector<bool> again = disturbed(samples_us, slowdowns);
    retakes += static_cast<int>(std::count(again.begin(), again.end(), true));
    const bool none = std::find(again.begin(), again.end(), true) == again.end();
    if (none || retakes > kMaxRetakes || spent_us > 2 * rule.patience_us) break;
    for (std::size_t i = again.size(); i-- > 0;) {
      if (!again[i]) continue;
      samples_us.erase(samples_us.begin() + static_cast<std::ptrdiff_t>(i));
      slowdowns.erase(slowdowns.begin() + static_cast<std::ptrdiff_t>(i));
    }
  }
  timing.median_us = median(samples_us);
  timing.disturbance = disturbance_text(samples_us, slowdowns);
  return timing;
}

std::vector<Timing> LaunchTimer::time_interleaved(const std::vector<Launch>& launches,
                                                  const FinalsRule& rule) {
  const std::size_t entries = launches.size();
  std::vector<Timing> timings(entries);
  std::vector<Batch> batches;
  for (std::size_t k = 0; k < entries; ++k) {
    batches.push_back(warm_up(launches[k], SampleRule()));
    timings[k].launches_per_sample = batches[k].launches;
  }
  std::vector<std::vector<double>> samples_us(entries);
  std::vector<std::vector<std::string>> slowdowns(entries);
  double spent_us = 0;
  const auto take = [&](std::size_t round) {
    for (std::size_t i = 0; i < entries; ++i) {
      const std::size_t k = turn(i, round, entries);
      Sample taken = sample(batches[k], round == kConditionsRound);
      if (round == kConditionsRound) timings[k].conditions = taken.conditions;
      spent_us += taken.us * batches[k].launches;
      samples_us[k][round] = taken.us;
      slowdowns[k][round] = std::move(taken.slowdown);
    }
  };
  std::size_t rounds = 0;
  while (!rule.enough(samples_us, spent_us)) {
    for (auto& one : samples_us) one.resize(rounds + 1);
    for (auto& one : slowdowns) one.resize(rounds + 1);
    take(rounds++);
  }

  const double limit_us = spent_us + rule.patience_us;
  for (int retakes = 0; retakes < kMaxRetakes && spent_us < limit_us;) {
    std::vector<bool> again(rounds, false);
    for (std::size_t k = 0; k < entries; ++k) {
      const std::vector<bool> odd = disturbed(samples_us[k], slowdowns[k]);
      for (std::size_t round = 0; round < rounds; ++round)
        again[round] = again[round] || odd[round];
    }
    if (std::find(again.begin(), again.end(), true) == again.end()) break;
    for (std::size_t round = 0; round < rounds && retakes < kMaxRetakes; ++round) {
      if (!again[round] || spent_us >= limit_us) continue;
      take(round);
      ++retakes;
    }
  }
  for (std::size_t k = 0; k < entries; ++k) {
    timings[k].median_us = median(samples_us[k]);
    timings[k].disturbance = disturbance_text(samples_us[k], slowdowns[k]);
    timings[k].samples_us = std::move(samples_us[k]);
  }
  return timings;
}

std::vector<double> LaunchTimer::time_cold(const std::vector<Launch>& launches, int copies,
                                           std::size_t rounds) {
  std::vector<Batch> batches;
  for (const Launch& launch : launches) {
    batches.push_back(capture(launch, copies, copies));
    const int needed = cold_launches_per_sample(sample(batches.back()).us, copies);
    if (needed > copies) batches.back() = capture(launch, needed, copies);
  }
  std::vector<std::vector<double>> samples_us(launches.size());
  double spent_us = 0;
  for (std::size_t round = 0; round < rounds; ++round) {
    if (round >= kFewColdRounds && spent_us >= kColdPatienceUs) break;
    for (std::size_t i = 0; i < launches.size(); ++i) {
      const std::size_t k = turn(i, round, launches.size());
      samples_us[k].push_back(sample(batches[k]).us);
      spent_us += samples_us[k].back() * batches[k].launches;
    }
  }
  std::vector<double> medians;
  for (const std::vector<double>& one : samples_us) medians.push_back(median(one));
  return medians;
}

}  // namespace gemm_tune
