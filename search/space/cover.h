// SPDX-License-Identifier: Apache-2.0
// A few points that stand for a whole space: drawn evenly, and every pair of parameter values once.
//
// For tests and measurements that cannot afford the space itself. Pure: the same seed gives the
// same points on every machine. Any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "search/space/config_list.h"

namespace gemm_tune {

// `count` of `size` indices, ascending: one at random from each of `count` equally long stretches;
// all where there are no more.
std::vector<std::size_t> draw_evenly(std::size_t size, std::size_t count, std::uint64_t seed);

// Indices of points such that any two values of two parameters that some point of a family has
// together, one of them has too. About as few as a greedy choice finds.
std::vector<std::size_t> cover_pairs(const ConfigList& points, std::uint64_t seed);

}  // namespace gemm_tune
