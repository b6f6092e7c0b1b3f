// SPDX-License-Identifier: Apache-2.0
// The cycles of the SM that takes longest, of a kernel by wgmma whose CTAs stay for several tiles.
//
// Tensor cores, shared memory and TMA work at the same time in the main loop; the slowest decides.
// Pure; any thread.
#pragma once

#include "core/problem/problem.h"
#include "kernel_templates/persistent_ctas.h"
#include "kernel_templates/traits.h"
#include "search/model/machine_profile.h"

namespace gemm_tune {

struct WarpgroupCycles {
  double total = 0;
  double slowdown = 1;                      // of the launch, also where DRAM decides
  double multiply = 0, smem = 0, load = 0;  // what each alone takes in the main loops
};

// The tiles, of clusters, that a kernel with REDUCE cuts on a device of so many SMs.
CutTiles cut_tiles(const Traits& traits, const Problem& problem, int sm_count);

// The cycles of one step of tile_k, whatever the problem.
struct WarpgroupStep {
  double multiply = 0, smem = 0;  // what each alone takes
  double load = 0;                // what arrives in an SM
  double total = 0;               // where what is asked of the L2 takes no longer than that
};

WarpgroupStep warpgroup_step(const Traits& traits, const ModelConstants& constants);

// step: of warpgroup_step().
WarpgroupCycles warpgroup_cycles(const Traits& traits, const WarpgroupStep& step,
                                 const Problem& problem, int sm_count,
                                 const ModelConstants& constants);

}  // namespace gemm_tune
