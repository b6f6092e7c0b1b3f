// SPDX-License-Identifier: Apache-2.0
// Every strategy that is studied: the product's (search/strategy/strategy_by_name.h), and beside
// them the textbook searches that need no model: annealing, genetic, differential evolution.
//
// What a textbook search would evaluate twice is answered from memory and costs nothing; where one
// cannot think of anything new, a random point is asked, so that each exhausts the space in the
// end. All work on log time; a failure is worse than any time. Not thread-safe.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "search/space/search_space.h"
#include "search/strategy/strategy.h"

namespace gemm_tune {

inline constexpr std::array<const char*, 6> kStudiedStrategies = {
    "model", "random", "exhaustive", "annealing", "genetic", "diff_evo"};

// prior_us: as for make_model(); the others have no use for it. budget: how many points will be
// asked in all. Throws std::invalid_argument for a name that is not one of these. The space must
// outlive the strategy.
std::unique_ptr<Strategy> make_studied(std::string_view name, const SearchSpace& space,
                                       std::vector<double> prior_us, std::size_t budget,
                                       std::uint64_t seed);

}  // namespace gemm_tune
