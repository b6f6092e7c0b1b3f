// SPDX-License-Identifier: Apache-2.0
#include "search/model/expected_error.h"

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace gemm_tune {
namespace {

// Of one rounding to fp32, the root mean square relative to the result: an error spread evenly over
// one unit in the last place, 2^-23 for a result from 1 to 2, whose logarithm is spread evenly:
// 2^-23 / sqrt(12) * sqrt(3 / (8 ln 2)).
constexpr double kRounding = 0x1p-23 * 0.21233;

double tiles_of(const Traits& traits, const Problem& problem) {
  const double along_m = std::ceil(static_cast<double>(problem.M) / traits.tile_m);
  const double along_n = std::ceil(static_cast<double>(problem.N) / traits.tile_n);
  return along_m * along_n * static_cast<double>(problem.batch);
}

// The additions in turn where so many CTAs share a tile: of a thread's products, of the sums of a
// CTA's threads, and of those of the CTAs.
double chain(const Traits& traits, double K, double ctas) {
  const double of_cta = std::min<double>(traits.threads_along_k, K);
  const double of_tile = std::min(ctas, K / of_cta);
  return K / (of_cta * of_tile) + of_cta + of_tile - 1;
}

}  // namespace

double expected_error(const Traits& traits, const Problem& problem, const DeviceSpec& device) {
  const auto K = static_cast<double>(std::max<std::int64_t>(problem.K, 1));
  double length = chain(traits, K, traits.split_k);
  if (traits.tail_ctas_per_sm > 0) {  // only the tiles of the last, ragged wave are shared
    const double tiles = tiles_of(traits, problem);
    const double wave = static_cast<double>(device.sm_count) * traits.tail_ctas_per_sm;
    const double shared = std::fmod(tiles, wave);
    if (shared > 0) {
      const double whole_length = length * (tiles - shared);
      length = (whole_length + chain(traits, K, wave / shared) * shared) / tiles;
    }
  }
  return kRounding * std::sqrt(length / 2);
}

}  // namespace gemm_tune
