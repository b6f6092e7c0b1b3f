// SPDX-License-Identifier: Apache-2.0
// What a launch adds to the arguments of a call: how its grid cuts tiles, and scratch memory.
//
// One place for everybody who launches, so that nobody forgets a part. Pure; any thread.
#pragma once

#include "core/launch_recipe.h"
#include "kernel_templates/device/gemm_args.cuh"

namespace gemm_tune {

// counters and partials: of a workspace with the workspace_bytes() of the problem that the grid is
// for; null where these are 0.
inline GemmArgs launch_args(GemmArgs call, const Grid& grid, int* counters, float* partials) {
  call.piece_k = static_cast<int>(grid.piece_k);
  call.counters = counters;
  call.partials = partials;
  return call;
}

}  // namespace gemm_tune
