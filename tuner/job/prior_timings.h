// SPDX-License-Identifier: Apache-2.0
// Timings of this GPU at other problems and of other GPUs at this problem, as evidence for a
// search.
//
// Each timed config corresponds to a point of the search; the evidence is the error of the static
// model there, of which search/transfer.h makes a prior. Reads no database. Pure; any thread.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "core/device_spec.h"
#include "core/problem.h"
#include "db/database.h"
#include "kernel_templates/registry.h"
#include "search/transfer.h"

namespace gemm_tune {

// All timings of one problem on one device.
struct PriorTimings {
  DeviceKey device;
  Problem problem;
  Evidence evidence;
};

// Fewer timings than this say nothing about configs that were not among them.
inline constexpr std::size_t kFewestTimings = 8;
inline constexpr std::size_t kMostPriorTimings = 16;

// The likest problems and devices first. rows: by device and problem, of configs that are still
// known. points: the candidates for the problem on the device. A timed config corresponds to the
// point with the same tunables under a specialisation of the problem: its layout, its access width
// (the widest there corresponds to the widest here), predicated or not. A timing of the point
// itself replaces those of its correspondents.
std::vector<PriorTimings> prior_timings(std::span<const TimedConfig> rows, const DeviceSpec& device,
                                        const Problem& problem,
                                        std::span<const KnownConfig> points);

// Whether the timings justify a search of the least budget: enough of them are of problems and
// devices like the target.
bool guide_well(std::span<const PriorTimings> sources);

}  // namespace gemm_tune
