// When enough has been timed: pure rules over numbers, tested with literal ones.
//
// docs/measurement.md explains them. One sample is the mean launch time of a batch between two
// events; a batch lasts at least kMinSampleUs, so that the events' resolution (0.5 us) and the cost
// of recording them vanish.
#pragma once

#include <optional>
#include <span>

namespace gemm_tune {

inline constexpr double kMinSampleUs = 200;
inline constexpr int kMaxLaunchesPerSample = 1000;

// Launches that make a batch of at least kMinSampleUs, given one launch's time in microseconds.
int launches_per_sample(double launch_us);

// Middle value; mean of the two middle ones for an even count. Precondition: not empty.
double median(std::span<const double> samples);

// Whether a candidate with these samples is timed well enough.
struct SampleRule {
  int min_samples = 5;
  int max_samples = 15;
  // Enough once the interquartile range is within this share of the median.
  double spread = 0.01;
  // A candidate whose fastest sample is above this is out of the race: `min_when_slow` will do.
  std::optional<double> cutoff_us;
  int min_when_slow = 3;

  bool enough(std::span<const double> samples_us) const;
};

// Interquartile range over median. Precondition: not empty.
double relative_spread(std::span<const double> samples);

}  // namespace gemm_tune
