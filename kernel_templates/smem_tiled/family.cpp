// SPDX-License-Identifier: Apache-2.0
// The family smem_tiled as the host sees it: cost and search space.
#include "kernel_templates/family.h"

#include "kernel_templates/cost.h"
#include "kernel_templates/registry/families.h"
#include "kernel_templates/smem_tiled/params.cuh"

namespace gemm_tune::smem_tiled {
namespace {

Traits traits(const Params& p) {
  Traits t = thread_tile_traits(tile(p), unroll(p), p.PRED != 0);
  // Fitted on sm_90 (CUDA 13.0); over 15 other configs the root mean square error is 4.
  t.registers_estimate = static_cast<int>(26 + 2 * tile_loads(p.BM + p.BN, p.BK, threads(p), 1));
  return t;
}

}  // namespace

KernelFamily family() {
  KernelFamily family = make_family<Params>(
      "smem_tiled", /*revision=*/1, "one thread per element, slices of A and B in shared memory",
      {tile_m_param("BM", &Params::BM, {8, 16, 32}),
       tile_n_param("BN", &Params::BN, {8, 16, 32}),
       tile_k_param("BK", &Params::BK, {8, 16, 32}),
       {"UNROLL", &Params::UNROLL, {0, 1}, "1: unroll the loop over a slice"},
       predicated_param("PRED", &Params::PRED)},
      rules().list, &reject, &traits);
  family.rungs = {
      {"shared memory 16x16", "smem_tiled/BM=16,BN=16,BK=16,UNROLL=0,PRED=0",
       "global traffic falls 16-fold; two shared loads and the loop remain per FFMA"},
      {"shared memory 16x16, unrolled", "smem_tiled/BM=16,BN=16,BK=16,UNROLL=1,PRED=0",
       "unrolling removes the loop's own instructions and merges loads of A"},
      {"shared memory 32x32, unrolled", "smem_tiled/BM=32,BN=32,BK=32,UNROLL=1,PRED=0",
       "a tile twice as wide halves global traffic once more"},
  };
  return family;
}

}  // namespace gemm_tune::smem_tiled
