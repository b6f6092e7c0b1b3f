// SPDX-License-Identifier: Apache-2.0
#include "search/strategy/transfer.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <initializer_list>
#include <map>
#include <numeric>
#include <stdexcept>

#include "core/in_parallel.h"
#include "search/strategy/model_strategy.h"
#include "search/strategy/surrogate.h"

namespace gemm_tune {
namespace {

// The surrogate learns from so many points at most, half of them the best.
constexpr std::size_t kMostObserved = 256;
constexpr int kFitSteps = 20;
constexpr std::size_t kChunk =
    4096;  // points whose correction is computed at once: it stays in the cache
// An error at one problem holds at another one in part only: of an observed error's variance a
// quarter or so is taken for noise. A point's own errors weigh as much as their sources are alike;
// what the surrogate makes of all weighs beside them this times what the likest lacks of being
// alike (docs/notes/search/search_quality.md).
constexpr double kNoise = -1, kNoiseSpread = 1;  // as Surrogate::Constants has them
constexpr double kSurrogateWeight = 5;

double median(std::vector<std::pair<std::size_t, double>> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end(),
                   [](const auto& a, const auto& b) { return a.second < b.second; });
  return middle->second;
}

struct Correction {
  double log_ratio = 0;
  double weight = 0, most = 0;  // of its sources' likeness: the sum and the greatest
};

// By point, how far off the model is expected to be at the target, as a logarithm: the sources'
// ratios, each source's median being 0, averaged by likeness, and less the less alike they are.
std::map<std::size_t, Correction> corrections(std::span<const Evidence> evidence) {
  struct Sum {
    double weights = 0, weighted = 0, most = 0;
  };
  std::map<std::size_t, Sum> sums;
  for (const Evidence& source : evidence) {
    if (source.log_ratios.empty()) continue;
    const double middle = median(source.log_ratios);
    for (const auto& [point, ratio] : source.log_ratios) {
      Sum& sum = sums[point];
      sum.weights += source.likeness;
      sum.weighted += source.likeness * (ratio - middle);
      sum.most = std::max(sum.most, source.likeness);
    }
  }
  std::map<std::size_t, Correction> result;
  for (const auto& [point, sum] : sums) {
    if (sum.weights == 0) continue;
    result[point] = {sum.most * sum.weighted / sum.weights, sum.weights, sum.most};
  }
  return result;
}

// The best half of them by corrected prior, the others evenly from the rest.
std::vector<std::size_t> to_observe(const std::map<std::size_t, Correction>& corrections,
                                    const std::vector<double>& log_prior) {
  std::vector<std::pair<double, std::size_t>> order;
  for (const auto& [point, correction] : corrections) {
    order.emplace_back(log_prior[point] + correction.log_ratio, point);
  }
  std::sort(order.begin(), order.end());
  const std::size_t best = std::min(order.size(), kMostObserved / 2);
  const std::size_t rest = std::min(order.size() - best, kMostObserved - best);
  std::vector<std::size_t> points;
  for (std::size_t i = 0; i < best; ++i) points.push_back(order[i].second);
  for (std::size_t i = 0; i < rest; ++i) {
    points.push_back(order[best + i * (order.size() - best) / rest].second);
  }
  return points;
}

// Whether tiles of usual sizes cover C, and slices K, without a rest.
bool is_whole(const Problem& problem) {
  return problem.M % 64 == 0 && problem.N % 64 == 0 && problem.K % 32 == 0;
}

double octaves(double a, double b) { return std::log2(std::max(a, 1.0) / std::max(b, 1.0)); }

}  // namespace

double likeness(const Problem& a, const Problem& b) {
  const double m = octaves(static_cast<double>(a.M), static_cast<double>(b.M));
  const double n = octaves(static_cast<double>(a.N), static_cast<double>(b.N));
  const double k = octaves(static_cast<double>(a.K), static_cast<double>(b.K));
  const double batch = octaves(static_cast<double>(a.batch), static_cast<double>(b.batch));
  double distance = std::sqrt(m * m + n * n + k * k + batch * batch);
  // Other accesses change what the loads cost: an octave where they are transposed, three where
  // they are narrower (64 tries at 1023x1025x1021, guided by 1024 and 1000, ended at 0.85 of
  // cublasSgemm, where 1.02 can be had).
  if (a.layout != b.layout) distance += 1;
  if (a.signature != b.signature) distance += 1;  // as a layout: not measured
  if (alignment_class(a) != alignment_class(b)) distance += 3;
  // Octaves at which half is left. At 8, the errors at 1024 sent the first 50 tries at 4096, where
  // waves and operands are other ones, to the wrong end of the space.
  constexpr double kHalf = 2;
  return std::exp2(-distance / kHalf);
}

bool is_near(const Problem& a, const Problem& b) {
  const auto ratio = [](std::int64_t one, std::int64_t other) {
    return static_cast<double>(one) / static_cast<double>(other);
  };
  // Within a factor of two of each other: of 1, an extent; of another, the ratio of two extents.
  const auto are_similar = [](std::initializer_list<double> ratios) {
    const auto [least, most] = std::minmax(ratios);
    return most <= 2 * least;
  };
  return are_similar({1, ratio(a.M, b.M), ratio(a.N, b.N), ratio(a.K, b.K)}) &&
         are_similar({1, ratio(a.batch, b.batch)}) && a.batch_kind == b.batch_kind &&
         a.layout == b.layout && a.signature == b.signature &&
         alignment_class(a) == alignment_class(b) && is_whole(a) == is_whole(b) &&
         !uses_tensor_cores(a.signature);
}

double likeness(const DeviceSpec& a, const DeviceSpec& b) {
  if (a.arch == b.arch) return a.name == b.name && a.sm_count == b.sm_count ? 1.0 : 0.9;
  return a.cc_major == b.cc_major ? 0.7 : 0.5;
}

std::vector<double> transferred_prior(const SearchSpace& space, std::vector<double> prior_us,
                                      std::span<const Evidence> evidence, std::size_t threads) {
  if (prior_us.size() != space.size()) {
    throw std::invalid_argument("a transferred prior needs one prior time per point");
  }
  std::map<std::size_t, Correction> known = corrections(evidence);
  std::vector<double> log_prior;
  for (const double time : prior_us) log_prior.push_back(std::log(time));
  std::erase_if(known, [&](const auto& one) { return !std::isfinite(log_prior.at(one.first)); });
  if (known.empty()) return prior_us;

  const ModelSearchConstants search;  // which takes the static model for its prior
  Surrogate::Constants constants;
  constants.scale = search.prior_scale;
  constants.scale_weight = search.prior_scale_weight;
  constants.length = search.prior_length;
  constants.noise = kNoise;
  constants.noise_spread = kNoiseSpread;
  Surrogate surrogate(space, {}, constants);
  std::vector<double> values;
  const std::vector<std::size_t> observed = to_observe(known, log_prior);
  for (const std::size_t point : observed) values.push_back(known.at(point).log_ratio);
  surrogate.fit(observed, values, {}, kFitSteps);
  std::vector<std::size_t> all(space.size());
  std::iota(all.begin(), all.end(), std::size_t{0});
  in_parallel(threads, (all.size() + kChunk - 1) / kChunk, [&](std::size_t chunk) {
    const std::span<const std::size_t> rest = std::span(all).subspan(chunk * kChunk);
    const std::span<const std::size_t> points = rest.first(std::min(kChunk, rest.size()));
    const Eigen::VectorXf means = surrogate.means(points);
    for (std::size_t i = 0; i < points.size(); ++i) {
      double correction = means[static_cast<Eigen::Index>(i)];
      if (const auto own = known.find(points[i]); own != known.end()) {
        const double weight = own->second.weight, doubt = kSurrogateWeight * (1 - own->second.most);
        correction += weight / (weight + doubt) * (own->second.log_ratio - correction);
      }
      prior_us[points[i]] *= std::exp(correction);
    }
  });
  return prior_us;
}

}  // namespace gemm_tune
