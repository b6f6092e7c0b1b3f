// SPDX-License-Identifier: Apache-2.0
// What a model search was told, and what is under way. Pure; not thread-safe.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <numeric>
#include <unordered_map>
#include <vector>

#include "search/strategy/stop_rule.h"

namespace gemm_tune {

struct Results {
  std::vector<std::size_t> points;                     // in the order told
  std::vector<double> values;                          // log time; infinite for a failure
  std::unordered_map<std::size_t, std::size_t> place;  // of a point among these
  std::vector<std::size_t> pending;
  double best = std::numeric_limits<double>::infinity(),
         worst = -std::numeric_limits<double>::infinity();
  std::size_t best_point = 0;  // any, where nothing is valid
  std::size_t since_best = 0, since_gain = 0;
  double best_at_gain = std::numeric_limits<double>::infinity();

  bool none_valid() const { return !std::isfinite(best); }

  // False where the point was told before.
  bool add(std::size_t point, double value) {
    if (!place.emplace(point, points.size()).second) return false;
    points.push_back(point);
    values.push_back(value);
    if (std::isfinite(value)) worst = std::max(worst, value);
    since_best = value < best ? 0 : since_best + 1;
    if (value < best) best_point = point;
    best = std::min(best, value);
    const bool is_gain = value < best_at_gain - StopRule().worth;
    since_gain = is_gain ? 0 : since_gain + 1;
    if (is_gain) best_at_gain = value;
    return true;
  }

  // By how much a further value improves on the best.
  double gain_of(double value) const { return none_valid() ? 0 : std::max(0.0, best - value); }

  // A failure is as bad as the worst; unknown where there is no other, as what was not told.
  double value_of(std::size_t point) const {
    const auto told = place.find(point);
    if (told == place.end()) return std::numeric_limits<double>::quiet_NaN();
    const double value = values[told->second];
    if (std::isfinite(value)) return value;
    return none_valid() ? std::numeric_limits<double>::quiet_NaN() : worst;
  }

  // The told points, best first.
  std::vector<std::size_t> best_first() const {
    std::vector<std::size_t> order(points.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return values[a] < values[b]; });
    for (std::size_t& i : order) i = points[i];
    return order;
  }
};

}  // namespace gemm_tune
