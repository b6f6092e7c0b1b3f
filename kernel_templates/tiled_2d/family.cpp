// SPDX-License-Identifier: Apache-2.0
// The family tiled_2d as the host sees it: cost and search space.
#include "kernel_templates/family.h"

#include "kernel_templates/cost.h"
#include "kernel_templates/registry/families.h"
#include "kernel_templates/tiled_2d/params.cuh"

namespace gemm_tune::tiled_2d {
namespace {

Traits traits(const Params& p) {
  Traits t = thread_tile_traits(tile(p), unroll(p), p.PRED != 0);
  // Fitted on sm_90 (CUDA 13.0); over 29 other configs the root mean square error is 18.
  t.registers_estimate =
      static_cast<int>(38 + 1.5 * p.TM * p.TN + 3.6 * tile_loads(p.BM + p.BN, p.BK, threads(p), 1));
  return t;
}

}  // namespace

KernelFamily family() {
  KernelFamily family = make_family<Params>(
      "tiled_2d", /*revision=*/1,
      "2D thread tile, scalar accesses, slices of A and B in shared memory",
      {tile_m_param("BM", &Params::BM, {32, 64, 128}),
       tile_n_param("BN", &Params::BN, {32, 64, 128}), tile_k_param("BK", &Params::BK, {8, 16}),
       thread_m_param("TM", &Params::TM, {2, 4, 8}), thread_n_param("TN", &Params::TN, {2, 4, 8}),
       predicated_param("PRED", &Params::PRED)},
      rules().list, &reject, &traits);
  family.rungs = {
      {"2x2 coarsened", "tiled_2d/BM=32,BN=32,BK=16,TM=2,TN=2,PRED=0",
       "two values of A and two of B serve four FFMAs"},
      {"2D tile 8x8", "tiled_2d/BM=128,BN=128,BK=8,TM=8,TN=8,PRED=0",
       "16 values serve 64 FFMAs; registers begin to limit occupancy"},
  };
  return family;
}

}  // namespace gemm_tune::tiled_2d
