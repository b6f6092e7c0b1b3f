// SPDX-License-Identifier: Apache-2.0
// Every strategy that searches an abstract space, by the name that the command line gives it.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "search/space/search_space.h"
#include "search/strategy/strategy.h"

namespace gemm_tune {

inline constexpr std::array<const char*, 3> kStrategyNames = {"model", "random", "exhaustive"};

// prior_us: as for make_model(); the others have no use for it. Throws std::invalid_argument for a
// name that is not one of these. The space must outlive the strategy.
std::unique_ptr<Strategy> make_strategy(std::string_view name, const SearchSpace& space,
                                        std::vector<double> prior_us, std::uint64_t seed);

}  // namespace gemm_tune
