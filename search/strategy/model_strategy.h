// SPDX-License-Identifier: Apache-2.0
// The search by a surrogate: asks where a Gaussian process expects the most improvement.
//
// Starts at the centre of the space and far from what was asked, or, given a prior, at its best
// point; then asks for the greatest expected improvement of log time. A point under way counts as
// if it had come out as expected, so that any number may be under way at once. When nothing has
// improved for a while, every second ask doubts the model: see ModelSearchConstants. Failures count
// as the worst time seen. Pure like every strategy (search/strategy/strategy.h). Not thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "search/space/search_space.h"
#include "search/strategy/strategy.h"
#include "search/strategy/surrogate.h"

namespace gemm_tune {

// What the strategy assumes beyond Surrogate::Constants. docs/search.md says how each was chosen.
struct ModelSearchConstants {
  Surrogate::Constants surrogate;
  // In place of the surrogate's own where there is a prior: it is off by a fifth, and what it
  // misses is rougher than what it knows. The length is the doubting surrogate's as well.
  double prior_scale = 0.04, prior_scale_weight = 4;
  double prior_length = -0.5;
  // Without a prior the surrogate sees log times above the best squeezed: x as c log(1 + x / c), c
  // this. What lies far above the best would otherwise decide the length scales.
  double squeeze = 0.3;
  // With a prior: of a result whose log time lies more than this above the best, the surrogate sees
  // the prior's error, x beside the median error, as c log(1 + |x| / c) with its sign, c this. That
  // a config is twice as slow as expected would otherwise make it unsure of those near the best. It
  // stays this much above the best: its neighbours would otherwise seem to be faster than that.
  double prior_squeeze = 0.1;
  // Points before the surrogate is asked, where there is no prior: the centre, and each further one
  // the farthest of so many random ones from those before.
  std::size_t start = 2;
  std::size_t start_draws = 16;
  // Hyperparameters are chosen anew when there are so many times as many results as the last time.
  double refit_growth = 1.15;
  int refit_iterations = 20;
  // After so many results without an improvement every second ask doubts the surrogate: with a
  // prior it comes from one without, and without a prior it is a neighbour of one of the best.
  std::size_t stall = 10;
  std::size_t elite = 8;
  // With a prior, after so many results without an improvement, first come the best's variants in
  // one parameter whose expected log time is at most so much greater than the best's.
  std::size_t variants_after = 5;
  double likely_variant = 0.05;
  // A later best gets variants of its own if its log time is lower by at least this: smaller
  // differences are noise.
  double variants_anew = 0.003;
  // So many of them, the likeliest: where launches take 3 us nearly all are likely.
  std::size_t most_variants = 12;
  // Of more results so many are observed: half of them the best, the rest evenly.
  std::size_t most_observed = 300;
  // Of a larger space so many points are scored; which ones is chosen anew with each refit.
  std::size_t pool = 20480;
  // expected_gain(): said once there are more results than the window, from the joint posterior of
  // so many points at most; trusted like a surrogate that has promised this much and kept it.
  std::size_t gain_window = 32, gain_points = 64;
  double gain_trust = 0.1;
  // The same for what the next tries are expected to gain, in outlook().
  double outlook_trust = 0.3;
};

// prior_us: what each point is expected to take, in any unit, or empty for no expectation. NaN is
// "unknown", infinity "hopeless". The space must outlive the strategy. Throws std::invalid_argument
// where there is a prior and not one value per point.
std::unique_ptr<Strategy> make_model(const SearchSpace& space, std::vector<double> prior_us,
                                     std::uint64_t seed,
                                     const ModelSearchConstants& constants = {});

}  // namespace gemm_tune
