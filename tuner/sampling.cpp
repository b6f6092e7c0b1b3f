#include "tuner/sampling.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace gemm_tune {
namespace {

// Linear interpolation between order statistics (type 7 of Hyndman and Fan 1996).
double quantile(const std::vector<double>& sorted, double q) {
  const double position = q * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(position);
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + (sorted[above] - sorted[below]) * (position - static_cast<double>(below));
}

std::vector<double> sorted(std::span<const double> samples) {
  std::vector<double> copy(samples.begin(), samples.end());
  std::sort(copy.begin(), copy.end());
  return copy;
}

}  // namespace

int launches_per_sample(double launch_us) {
  if (launch_us <= 0) return kMaxLaunchesPerSample;
  const double needed = std::ceil(kMinSampleUs / launch_us);
  return static_cast<int>(std::clamp(needed, 1.0, static_cast<double>(kMaxLaunchesPerSample)));
}

double median(std::span<const double> samples) { return quantile(sorted(samples), 0.5); }

double relative_spread(std::span<const double> samples) {
  const std::vector<double> ordered = sorted(samples);
  return (quantile(ordered, 0.75) - quantile(ordered, 0.25)) / quantile(ordered, 0.5);
}

Interval median_interval(std::span<const double> samples) {
  constexpr double kOutsideEachSide = 0.025;
  const std::vector<double> ordered = sorted(samples);
  const std::size_t n = ordered.size();
  // The median lies below the k-th smallest with P(Binomial(n, 1/2) < k).
  double term = std::pow(0.5, static_cast<double>(n)), below = term;
  std::size_t k = 1;
  while (2 * (k + 1) <= n + 1) {
    term *= static_cast<double>(n - k + 1) / static_cast<double>(k);
    below += term;
    if (below > kOutsideEachSide) break;
    ++k;
  }
  return {ordered[k - 1], ordered[n - k]};
}

std::vector<bool> ties(const std::vector<std::vector<double>>& samples) {
  std::vector<double> medians;
  for (const std::vector<double>& one : samples) medians.push_back(median(one));
  const auto fastest = std::min_element(medians.begin(), medians.end()) - medians.begin();
  std::vector<bool> tied;
  for (const std::vector<double>& one : samples) {
    std::vector<double> ratios;
    for (std::size_t round = 0; round < one.size(); ++round) {
      ratios.push_back(one[round] / samples[static_cast<std::size_t>(fastest)][round]);
    }
    tied.push_back(median_interval(ratios).low <= 1 + kTieMargin);
  }
  return tied;
}

bool SampleRule::enough(std::span<const double> samples_us) const {
  const int count = static_cast<int>(samples_us.size());
  if (count >= max_samples) return true;
  if (count < std::min(min_samples, min_when_slow)) return false;
  if (cutoff_us && *std::min_element(samples_us.begin(), samples_us.end()) > *cutoff_us) {
    return count >= min_when_slow;
  }
  return count >= min_samples && relative_spread(samples_us) <= spread;
}

}  // namespace gemm_tune
