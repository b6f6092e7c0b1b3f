// SPDX-License-Identifier: Apache-2.0
#include "search/space/point_index.h"

#include <algorithm>
#include <bit>
#include <functional>

namespace gemm_tune {

PointIndex::PointIndex(const ConfigList& points)
    : points_(points),
      slots_(std::bit_ceil(2 * points.size() + 1), static_cast<std::uint32_t>(points.size())) {
  for (std::size_t i = 0; i < points.size(); ++i) {
    std::size_t slot = first_slot(points.family(i), points.values(i));
    while (slots_[slot] != points.size()) slot = (slot + 1) % slots_.size();
    slots_[slot] = static_cast<std::uint32_t>(i);
  }
}

std::optional<std::size_t> PointIndex::find(const KernelFamily& family, Values values) const {
  for (std::size_t slot = first_slot(family, values); slots_[slot] != points_.size();
       slot = (slot + 1) % slots_.size()) {
    const std::size_t point = slots_[slot];
    if (&points_.family(point) == &family && std::ranges::equal(points_.values(point), values)) {
      return point;
    }
  }
  return std::nullopt;
}

template <class SomeValues>
std::size_t PointIndex::first_slot(const KernelFamily& family, const SomeValues& values) const {
  std::uint64_t hash = std::hash<const KernelFamily*>{}(&family);
  for (const int value : values) {
    hash = (hash ^ static_cast<std::uint64_t>(value)) * 0x9E3779B97F4A7C15u;
    hash ^= hash >> 32;
  }
  return hash & (slots_.size() - 1);
}

}  // namespace gemm_tune
