// SPDX-License-Identifier: Apache-2.0
// The family faulty as the host sees it.
#pragma once

#include "kernel_templates/family.h"
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
  if (p.FAULT == kAllocation) t.split_k = 1 << 30;
  return t;
}

inline KernelFamily family() {
  return make_family<Params>(
      "faulty", /*revision=*/1, "kernels that do their worst, for tests",
      {{"FAULT", &Params::FAULT, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}, "what"},
       {"ID", &Params::ID, {0, 1, 2, 3, 4, 5, 6, 7}, "tells configs apart"}},
      kRules, &reject, &traits);
}

}  // namespace gemm_tune::faulty
