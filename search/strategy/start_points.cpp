// SPDX-License-Identifier: Apache-2.0
#include "search/strategy/start_points.h"

#include <algorithm>
#include <limits>
#include <vector>

namespace gemm_tune {
namespace {

// Squared, each parameter's range counting 1.
double distance(const SearchSpace& space, std::size_t a, std::size_t b) {
  double sum = 0;
  for (std::size_t i = 0; i < space.params().size(); ++i) {
    const double difference = static_cast<double>(space.at(a)[i]) - space.at(b)[i];
    const double range = static_cast<double>(space.params()[i].values.size()) - 1;
    if (range > 0) sum += difference * difference / (range * range);
  }
  return sum;
}

}  // namespace

std::size_t central_point(const SearchSpace& space, const Untried& untried,
                          std::mt19937_64& random) {
  std::vector<std::size_t> nearest;
  double least = std::numeric_limits<double>::infinity();
  for (std::size_t point = 0; point < space.size(); ++point) {
    if (!untried.contains(point)) continue;
    double sum = 0;
    for (std::size_t i = 0; i < space.params().size(); ++i) {
      const double range = static_cast<double>(space.params()[i].values.size()) - 1;
      if (range == 0) continue;
      const double off = space.at(point)[i] / range - 0.5;
      sum += off * off;
    }
    if (sum < least) nearest.clear();
    if (sum <= least) nearest.push_back(point);
    least = std::min(least, sum);
  }
  return nearest[random() % nearest.size()];
}

std::size_t far_point(const SearchSpace& space, const Untried& untried, const Results& results,
                      std::size_t draws, std::mt19937_64& random) {
  std::size_t best = 0;
  double farthest = -1;
  for (std::size_t i = 0; i < draws; ++i) {
    const std::size_t point = untried.draw(random);
    double nearest = std::numeric_limits<double>::infinity();
    for (const auto* tried : {&results.points, &results.pending}) {
      for (const std::size_t other : *tried)
        nearest = std::min(nearest, distance(space, point, other));
    }
    if (nearest > farthest) {
      farthest = nearest;
      best = point;
    }
  }
  return best;
}

}  // namespace gemm_tune
