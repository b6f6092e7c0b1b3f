// SPDX-License-Identifier: Apache-2.0
// The family faulty as the host sees it.
#pragma once

#include "core/launch/launch_plan.h"
#include "kernel_templates/family.h"
#include "kernel_templates/product_plan.h"
#include "tests/faults/faulty/params.cuh"

namespace gemm_tune::faulty {

inline Traits traits(const Params& p) {
  Traits t;
  t.threads = kTile * kTile;
  t.tile_m = t.tile_n = kTile;
  t.predicated = true;
  t.registers_estimate = 32;
  t.reads_global_in_inner_loop = true;
  if (p.FAULT == kSharedMemory) t.smem_bytes = 200 * 1024;
  return t;
}

inline KernelFamily family() {
  KernelFamily family =
      make_family<Params>("faulty", /*revision=*/1, "kernels that do their worst, for tests",
                          {{"FAULT", &Params::FAULT, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}, "what"},
                           {"ID", &Params::ID, {0, 1, 2, 3, 4, 5, 6, 7}, "tells configs apart"}},
                          kRules, &reject, &traits);
  family.plan = [](Values values, const Problem& problem, int sm_count) {
    const Params p = params_of<Params>(values);
    LaunchPlan plan = product_plan(launch_recipe(traits(p)), problem, sm_count);
    if (p.FAULT == kAllocation) plan.workspace_bytes = std::int64_t{1} << 50;
    return plan;
  };
  return family;
}

}  // namespace gemm_tune::faulty
