// SPDX-License-Identifier: Apache-2.0
// The points of a list that were neither asked nor told yet: membership, removal and a fair draw,
// each in constant time. Deterministic: a draw depends on the generator and the removals alone.
#pragma once

#include <cstddef>
#include <numeric>
#include <random>
#include <utility>
#include <vector>

namespace gemm_tune {

class Untried {
 public:
  explicit Untried(std::size_t points) : points_(points), place_(points) {
    std::iota(points_.begin(), points_.end(), std::size_t{0});
    std::iota(place_.begin(), place_.end(), std::size_t{0});
  }

  std::size_t size() const { return points_.size(); }

  // Throws std::out_of_range for a point outside the list, as remove() does.
  bool contains(std::size_t point) const { return place_.at(point) < points_.size(); }

  // Does nothing where it was removed before.
  void remove(std::size_t point) {
    if (!contains(point)) return;
    const std::size_t place = place_[point];
    points_[place] = points_.back();
    place_[points_[place]] = place;
    points_.pop_back();
    place_[point] = place_.size();
  }

  // There must be one.
  std::size_t draw(std::mt19937_64& random) const { return points_[random() % points_.size()]; }

 private:
  std::vector<std::size_t> points_;
  std::vector<std::size_t> place_;  // in points_, or the list's length
};

}  // namespace gemm_tune
