// SPDX-License-Identifier: Apache-2.0
// Finds the point with given values in a list of points.
//
// A hash table of positions: it copies no values, so that a list of a million costs tens of
// milliseconds. The list must outlive it and stay as it is. Immutable; any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "search/space/config_list.h"

namespace gemm_tune {

class PointIndex {
 public:
  explicit PointIndex(const ConfigList& points);
  explicit PointIndex(ConfigList&& points) = delete;  // it must outlive the index

  // The position of the point of that family and these values; nothing where the list lacks it. Of
  // equal points it is the first.
  std::optional<std::size_t> find(const KernelFamily& family, Values values) const;

 private:
  // Where the search for these values begins; slots_ is a power of two long.
  template <class SomeValues>
  std::size_t first_slot(const KernelFamily& family, const SomeValues& values) const;

  const ConfigList& points_;
  std::vector<std::uint32_t> slots_;  // positions in points_, or points_.size() for a free slot
};

}  // namespace gemm_tune
