// SPDX-License-Identifier: Apache-2.0
// The family coarsened_1d as the host sees it: cost and search space.
#include "kernel_templates/family.h"

#include "kernel_templates/coarsened_1d/params.cuh"
#include "kernel_templates/cost.h"
#include "kernel_templates/registry/families.h"

namespace gemm_tune::coarsened_1d {
namespace {

Traits traits(const Params& p) {
  Traits t = thread_tile_traits(tile(p), unroll(p), p.PRED != 0);
  // Fitted on sm_90 (CUDA 13.0); over 25 other configs the root mean square error is 10.
  t.registers_estimate =
      static_cast<int>(20 + 2.8 * p.TM + 5 * tile_loads(p.BM + p.BN, p.BK, threads(p), 1));
  return t;
}

}  // namespace

KernelFamily family() {
  KernelFamily family = make_family<Params>(
      "coarsened_1d", /*revision=*/1,
      "TM rows of one column per thread, slices of A and B in shared memory",
      {tile_m_param("BM", &Params::BM, {32, 64, 128}),
       tile_n_param("BN", &Params::BN, {32, 64, 128}), tile_k_param("BK", &Params::BK, {8, 16, 32}),
       thread_m_param("TM", &Params::TM, {4, 8, 16}), predicated_param("PRED", &Params::PRED)},
      rules().list, &reject, &traits);
  family.rungs = {
      {"1D coarsened", "coarsened_1d/BM=64,BN=64,BK=8,TM=8,PRED=0",
       "a value of B in a register serves eight FFMAs"},
  };
  return family;
}

}  // namespace gemm_tune::coarsened_1d
