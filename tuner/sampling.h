// When enough has been timed: pure rules over numbers, tested with literal ones.
//
// docs/measurement.md explains them. One sample is the mean launch time of a batch between two
// events; a batch lasts at least kMinSampleUs, so that the events' resolution (0.5 us) and the cost
// of recording them vanish.
#pragma once

#include <optional>
#include <span>
#include <vector>

namespace gemm_tune {

inline constexpr double kMinSampleUs = 200;
inline constexpr int kMaxLaunchesPerSample = 1000;

// Launches that make a batch of at least kMinSampleUs, given one launch's time in microseconds.
int launches_per_sample(double launch_us);

// Middle value; mean of the two middle ones for an even count. Precondition: not empty.
double median(std::span<const double> samples);

struct Interval {
  double low = 0, high = 0;

  friend bool operator==(const Interval&, const Interval&) = default;
};

// Where the true median lies with 95 % confidence, whatever the samples' distribution: between the
// k-th smallest and the k-th largest, k as large as the binomial distribution allows (David and
// Nagaraja, Order Statistics, 3rd ed., 2003, section 7.1; samples taken to be independent). Below 6
// samples it is their whole range, whose level is only 1 - 2^(1-n): 94 % for 5, 75 % for 3, none
// for 1. Precondition: not empty.
Interval median_interval(std::span<const double> samples);

// Differences below this are no reason to prefer one kernel to another.
inline constexpr double kTieMargin = 0.01;

// The tie set of finalists timed in rounds, one sample of each in turn: entry k is true unless k
// was shown to be more than kTieMargin slower than the fastest by median, which is tied itself.
// Judged on the ratios within rounds, because what moves the clocks for seconds hits both samples
// of a pair and cancels in their ratio, whereas it would widen two separate intervals. With a
// margin, because enough rounds resolve differences far smaller than what another run of the
// program changes (placement of the operands, temperature); a tie set without one would shrink to
// whoever was lucky. Precondition: the same number of samples of each, at least one.
std::vector<bool> ties(const std::vector<std::vector<double>>& samples);

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
