// SPDX-License-Identifier: Apache-2.0
// Which of many values are the least. Pure; any thread.
#pragma once

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <utility>
#include <vector>

namespace gemm_tune {

// The places of the `count` least values, the least first, of equal ones the earlier first; all
// places where there are fewer values. No value may be NaN.
inline std::vector<std::size_t> least_places(const std::vector<double>& values, std::size_t count) {
  std::vector<std::size_t> places(values.size());
  std::iota(places.begin(), places.end(), std::size_t{0});
  const auto end = places.begin() + static_cast<std::ptrdiff_t>(std::min(count, places.size()));
  std::partial_sort(places.begin(), end, places.end(), [&](std::size_t a, std::size_t b) {
    return std::pair(values[a], a) < std::pair(values[b], b);
  });
  places.erase(end, places.end());
  return places;
}

}  // namespace gemm_tune
