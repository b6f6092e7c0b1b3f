// SPDX-License-Identifier: Apache-2.0
// Where a search without a prior begins. Pure.
#pragma once

#include <cstddef>
#include <random>

#include "search/space/search_space.h"
#include "search/strategy/results.h"
#include "search/strategy/untried.h"

namespace gemm_tune {

// The untried point nearest to the middle of all value lists; of equal ones, any. There must be
// one.
std::size_t central_point(const SearchSpace& space, const Untried& untried,
                          std::mt19937_64& random);

// Of so many random untried points the one farthest from all that were told or are under way.
std::size_t far_point(const SearchSpace& space, const Untried& untried, const Results& results,
                      std::size_t draws, std::mt19937_64& random);

}  // namespace gemm_tune
