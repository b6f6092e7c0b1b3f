// SPDX-License-Identifier: Apache-2.0
#include "tuner/measure/sampling.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <numeric>
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

std::size_t fastest_by_median(const std::vector<std::vector<double>>& samples) {
  std::vector<double> medians;
  for (const std::vector<double>& one : samples) medians.push_back(median(one));
  const auto fastest = std::min_element(medians.begin(), medians.end());
  return static_cast<std::size_t>(fastest - medians.begin());
}

std::vector<double> ratios(std::span<const double> samples, std::span<const double> to) {
  std::vector<double> result;
  for (std::size_t i = 0; i < samples.size(); ++i) result.push_back(samples[i] / to[i]);
  return result;
}

double width(const Interval& interval) { return interval.high - interval.low; }

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
  const std::size_t fastest = fastest_by_median(samples);
  std::vector<bool> tied;
  for (const std::vector<double>& one : samples) {
    tied.push_back(median_interval(ratios(one, samples[fastest])).low <= 1 + kTieMargin);
  }
  return tied;
}

bool settled(std::span<const double> batch_means_us) {
  constexpr std::size_t kBatches = 3;
  constexpr double kWithin = 0.005;
  if (batch_means_us.size() < kBatches) return false;
  const auto last = batch_means_us.last(kBatches);
  const auto [low, high] = std::minmax_element(last.begin(), last.end());
  return *high <= *low * (1 + kWithin);
}

std::vector<bool> outliers(std::span<const double> samples) {
  constexpr std::size_t kFewest = 5;
  std::vector<bool> is_outlier(samples.size(), false);
  if (samples.size() < kFewest) return is_outlier;
  const double middle = median(samples);
  for (std::size_t i = 0; i < samples.size(); ++i) {
    is_outlier[i] = std::abs(samples[i] - middle) > kOutlier * middle;
  }
  return is_outlier;
}

std::vector<bool> disturbed(std::span<const double> samples,
                            const std::vector<std::string>& slowdowns) {
  std::vector<bool> result = outliers(samples);
  for (std::size_t i = 0; i < result.size(); ++i) {
    if (!slowdowns[i].empty()) result[i] = true;
  }
  return result;
}

std::string disturbance_text(std::span<const double> samples,
                             const std::vector<std::string>& slowdowns) {
  const std::string of_all = " of " + std::to_string(samples.size()) + " samples ";
  std::string text;
  const auto slowed = std::find_if(slowdowns.begin(), slowdowns.end(),
                                   [](const std::string& one) { return !one.empty(); });
  if (slowed != slowdowns.end()) {
    const auto count =
        std::count_if(slowed, slowdowns.end(), [](const std::string& one) { return !one.empty(); });
    text = std::to_string(count) + of_all + "under " + *slowed;
  }
  const std::vector<bool> odd = outliers(samples);
  if (const auto count = std::count(odd.begin(), odd.end(), true); count > 0) {
    if (!text.empty()) text += "; ";
    text += std::to_string(count) + of_all + "more than 5 % off the median";
  }
  return text;
}

bool SampleRule::is_beaten(std::span<const double> samples_us) const {
  if (!best_us || samples_us.empty()) return false;
  const double margin = kRaceMargins[std::min(samples_us.size(), std::size(kRaceMargins)) - 1];
  const double fastest = *std::min_element(samples_us.begin(), samples_us.end());
  return fastest > *best_us * (1 + margin);
}

bool SampleRule::enough(std::span<const double> samples_us) const {
  const int count = static_cast<int>(samples_us.size());
  if (count >= max_samples) return true;
  if (samples_us.empty()) return false;
  if (is_beaten(samples_us)) return true;
  // A batch of more than one launch is shorter than patience anyway.
  const double spent_us = std::accumulate(samples_us.begin(), samples_us.end(), 0.0);
  if (count >= min_when_long && spent_us >= patience_us) return true;
  const int least = spent_us >= long_us ? min_when_long : min_samples;
  return count >= least && relative_spread(samples_us) <= spread;
}

bool is_warm(std::span<const double> batch_means_us, double spent_us, double least_us,
             const SampleRule& rule) {
  return rule.is_beaten(batch_means_us) || (spent_us >= least_us && settled(batch_means_us));
}

bool FinalsRule::enough(const std::vector<std::vector<double>>& samples_us, double spent_us) const {
  const int rounds = static_cast<int>(samples_us.front().size());
  if (rounds >= max_rounds) return true;
  if (rounds >= min_when_long && spent_us >= patience_us) return true;
  if (rounds < min_rounds) return false;
  const auto is_tight = [this](std::span<const double> one) {
    return width(median_interval(one)) <= tightness * median(one);
  };
  const std::vector<std::vector<double>> finalists(samples_us.begin() + 1, samples_us.end());
  if (!is_tight(samples_us.front())) return false;
  if (finalists.empty()) return true;
  const std::size_t fastest = fastest_by_median(finalists);
  if (!is_tight(finalists[fastest])) return false;
  const std::vector<bool> tied = ties(finalists);
  for (std::size_t i = 0; i < finalists.size(); ++i) {
    if (tied[i] && !is_tight(ratios(finalists[i], finalists[fastest]))) return false;
  }
  return true;
}

std::optional<int> cold_copies(std::int64_t operand_bytes, std::int64_t l2_bytes,
                               std::int64_t free_bytes) {
  if (operand_bytes <= 0) return std::nullopt;
  const std::int64_t copies =
      1 + std::max<std::int64_t>(1, (2 * l2_bytes + operand_bytes - 1) / operand_bytes);
  if (copies > kMaxColdCopies) return std::nullopt;
  if (copies * operand_bytes > free_bytes - kColdReserveBytes) return std::nullopt;
  return static_cast<int>(copies);
}

int cold_launches_per_sample(double launch_us, int copies) {
  const int needed = launches_per_sample(launch_us);
  return (needed + copies - 1) / copies * copies;
}

}  // namespace gemm_tune
