// SPDX-License-Identifier: Apache-2.0
// Earlier timings as evidence for a search: of this GPU at other problems and of other GPUs at this
// problem.
//
// Each timed config corresponds to a point of the search. The evidence is the static model's error
// at that point; search/strategy/transfer.h derives a prior from it. Reads no database. Pure; any
// thread.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <vector>

#include "core/device/device_spec.h"
#include "core/problem/problem.h"
#include "db/database.h"
#include "search/space/point_index.h"
#include "search/strategy/transfer.h"

namespace gemm_tune {

// All timings of one problem on one device.
struct PriorTimings {
  DeviceKey device;
  Problem problem;
  Evidence evidence;
};

// Fewer timings than this do not help to predict other configs.
inline constexpr std::size_t kFewestTimings = 8;
inline constexpr std::size_t kMostPriorTimings = 16;

// Sorted by likeness of problem and device, the most similar first. rows: sorted by device and
// problem; their configs must still exist. points: of the candidates for the problem on the device.
// A timed config corresponds to the point with the same tunables under a specialisation of the
// problem: the problem's layout and access width (the widest there corresponds to the widest here),
// predicated or not. A timing of the point itself replaces timings of corresponding configs.
std::vector<PriorTimings> prior_timings(std::span<const TimedConfig> rows, const DeviceSpec& device,
                                        const Problem& problem, const PointIndex& points);

// The configs that timings elsewhere make likeliest to be the fastest at the problem, the likeliest
// first: what corresponds here to the fastest of the likest sources, by the static model's time
// times how far off it was there. Sources that are hardly alike count for nothing. Needs no space:
// is_candidate says of a config whether it may be tried. rows: as above, of the problem itself on
// the device too.
std::vector<KnownConfig> likely_fastest(
    std::span<const TimedConfig> rows, const DeviceSpec& device, const Problem& problem,
    std::size_t most, const std::function<bool(const KnownConfig&)>& is_candidate);

}  // namespace gemm_tune
