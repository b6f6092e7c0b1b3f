// SPDX-License-Identifier: Apache-2.0
#include "search/strategy/strategy_by_name.h"

#include <stdexcept>
#include <string>
#include <utility>

#include "search/strategy/model_strategy.h"

namespace gemm_tune {

std::unique_ptr<Strategy> make_strategy(std::string_view name, const SearchSpace& space,
                                        std::vector<double> prior_us, std::uint64_t seed) {
  if (name == "model") return make_model(space, std::move(prior_us), seed);
  if (name == "random") return make_random(space.size(), seed);
  if (name == "exhaustive") return make_exhaustive(space.size());
  throw std::invalid_argument("no strategy is called '" + std::string(name) + "'");
}

}  // namespace gemm_tune
