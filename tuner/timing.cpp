#include "tuner/timing.h"

#include <algorithm>
#include <utility>

namespace gemm_tune {
namespace {

constexpr double kWarmUpUs = 1000;  // at least; the GPU is already at work on the search itself

}  // namespace

LaunchTimer::Batch LaunchTimer::capture(const Launch& launch, int launches) const {
  LaunchGraph graph(stream_, [&] {
    for (int i = 0; i < launches; ++i) launch();
  });
  return {std::move(graph), launches};
}

double LaunchTimer::sample_us(const Batch& batch) {
  start_.record(stream_.get());
  batch.graph.launch(stream_);
  stop_.record(stream_.get());
  stop_.synchronize();
  return elapsed_us(start_, stop_) / batch.launches;
}

LaunchTimer::Batch LaunchTimer::warm_up(const Launch& launch) {
  Batch batch = capture(launch, 1);
  double spent_us = sample_us(batch);
  while (true) {
    const double launch_us = sample_us(batch);
    spent_us += launch_us * batch.launches;
    const int needed = launches_per_sample(launch_us);
    // A short batch's time holds the graph's own start, so that the first guess is too low.
    if (needed > batch.launches) {
      batch = capture(launch, std::min(needed + needed / 4, kMaxLaunchesPerSample));
    } else if (spent_us >= kWarmUpUs) {
      return batch;
    }
  }
}

Timing LaunchTimer::time(const Launch& launch, const SampleRule& rule) {
  const Batch batch = warm_up(launch);
  Timing timing;
  timing.launches_per_sample = batch.launches;
  while (!rule.enough(timing.samples_us)) timing.samples_us.push_back(sample_us(batch));
  timing.median_us = median(timing.samples_us);
  return timing;
}

std::vector<Timing> LaunchTimer::time_interleaved(const std::vector<Launch>& launches, int rounds) {
  std::vector<Timing> timings(launches.size());
  std::vector<Batch> batches;
  for (std::size_t i = 0; i < launches.size(); ++i) {
    batches.push_back(warm_up(launches[i]));
    timings[i].launches_per_sample = batches[i].launches;
  }
  for (int round = 0; round < rounds; ++round) {
    for (std::size_t i = 0; i < launches.size(); ++i) {
      timings[i].samples_us.push_back(sample_us(batches[i]));
    }
  }
  for (Timing& timing : timings) timing.median_us = median(timing.samples_us);
  return timings;
}

}  // namespace gemm_tune
