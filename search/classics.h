// SPDX-License-Identifier: Apache-2.0
// The textbook searches that need no model, for comparison: random, annealing, genetic,
// differential evolution.
//
// Strategies as in search/strategy.h. What such an algorithm would evaluate twice is answered from
// memory and costs nothing; where one cannot think of anything new, a random point is asked, so
// that each exhausts the space in the end. All work on log time; a failure is worse than any time.
// The space must outlive the strategy. Not thread-safe.
#pragma once

#include <cstdint>
#include <memory>

#include "search/search_space.h"
#include "search/strategy.h"

namespace gemm_tune {

std::unique_ptr<Strategy> make_random(std::size_t points, std::uint64_t seed);

// A walk over neighbours that accepts a loss of d (in log time) with probability exp(-d / T), T
// falling geometrically over the budget (Kirkpatrick, Gelatt and Vecchi 1983).
std::unique_ptr<Strategy> make_annealing(const SearchSpace& space, std::size_t budget,
                                         std::uint64_t seed);

// Tournaments of two among the best twenty, uniform crossover, one mutation a child on average; a
// child displaces the worst (Goldberg 1989; steady state).
std::unique_ptr<Strategy> make_genetic(const SearchSpace& space, std::uint64_t seed);

// rand/1/bin on the places of values, F 0.8, CR 0.9, population 16 (Storn and Price 1997).
std::unique_ptr<Strategy> make_diff_evo(const SearchSpace& space, std::uint64_t seed);

}  // namespace gemm_tune
