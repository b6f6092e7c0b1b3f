// The search by a surrogate: asks where a Gaussian process expects the most improvement.
//
// Pure like every strategy (search/strategy.h). Not thread-safe.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "search/search_space.h"
#include "search/strategy.h"
#include "search/surrogate.h"

namespace gemm_tune {

struct ModelConstants {
  Surrogate::Constants surrogate;
  int start = 5;
  int start_draws = 16;
  double refit = 1.15;
  int iterations = 20;
  int least_fit = 4;
  int start_kind = 0;
  int stall = 25;
  int elite = 4;
  double prior_slope = 1.0;
  int pool = 131072;
};

struct ModelTimes {
  double step_s = 0, worst_step_s = 0;
};

std::unique_ptr<Strategy> make_model(const SearchSpace& space, std::vector<double> prior_us,
                                     std::uint64_t seed, const ModelConstants& constants = {});

}  // namespace gemm_tune
