#include "tuner/timing.h"

namespace gemm_tune {
namespace {

constexpr double kWarmUpUs = 1000;  // at least; the GPU is already at work on the search itself

}  // namespace

double LaunchTimer::sample_us(const Launch& launch, int launches) {
  start_.record(stream_.get());
  for (int i = 0; i < launches; ++i) launch();
  stop_.record(stream_.get());
  stop_.synchronize();
  return elapsed_us(start_, stop_) / launches;
}

int LaunchTimer::warm_up(const Launch& launch) {
  double launch_us = sample_us(launch, 1);
  for (double spent_us = launch_us; spent_us < kWarmUpUs;) {
    const int launches = launches_per_sample(launch_us);
    launch_us = sample_us(launch, launches);
    spent_us += launch_us * launches;
  }
  return launches_per_sample(launch_us);
}

Timing LaunchTimer::time(const Launch& launch, const SampleRule& rule) {
  Timing timing;
  timing.launches_per_sample = warm_up(launch);
  while (!rule.enough(timing.samples_us)) {
    timing.samples_us.push_back(sample_us(launch, timing.launches_per_sample));
  }
  timing.median_us = median(timing.samples_us);
  return timing;
}

std::vector<Timing> LaunchTimer::time_interleaved(const std::vector<Launch>& launches, int rounds) {
  std::vector<Timing> timings(launches.size());
  for (std::size_t i = 0; i < launches.size(); ++i) {
    timings[i].launches_per_sample = warm_up(launches[i]);
  }
  for (int round = 0; round < rounds; ++round) {
    for (std::size_t i = 0; i < launches.size(); ++i) {
      timings[i].samples_us.push_back(sample_us(launches[i], timings[i].launches_per_sample));
    }
  }
  for (Timing& timing : timings) timing.median_us = median(timing.samples_us);
  return timings;
}

}  // namespace gemm_tune
