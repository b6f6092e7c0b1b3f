// SPDX-License-Identifier: Apache-2.0
// What was timed elsewhere, as evidence for a search: this GPU at other problems, other GPUs at
// this one.
//
// Says which point of the search each timed config corresponds to, and how far off the static model
// was there; search/transfer.h makes a prior of it. Reads no database. Pure; any thread.
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

// All that was timed of one problem on one device.
struct Precedent {
  DeviceKey device;
  Problem problem;
  Evidence evidence;
};

// Fewer timings than this tell nothing of configs that were not among them.
inline constexpr std::size_t kFewestTimings = 8;
inline constexpr std::size_t kMostPrecedents = 16;

// The likest first. rows: by device and problem, of configs that are still known. points: the
// candidates for the problem on the device. A config stands for the one of them with the same
// tunables under a specialisation of the problem: its layout, its width of accesses (the widest
// there for the widest here), predicated or not; where that one was timed itself it needs no
// stand-in.
std::vector<Precedent> precedents(std::span<const TimedConfig> rows, const DeviceSpec& device,
                                  const Problem& problem, std::span<const KnownConfig> points);

// Whether they make up for a search of the usual length: enough timings of what is like the target.
bool guide_well(std::span<const Precedent> precedents);

}  // namespace gemm_tune
