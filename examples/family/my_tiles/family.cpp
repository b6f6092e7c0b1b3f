// SPDX-License-Identifier: Apache-2.0
#include "kernel_templates/family.h"

#include "kernel_templates/cost.h"
#include "params.cuh"

namespace gemm_tune::my_tiles {

static Traits traits(const Params& p) {
  Traits t = thread_tile_traits(tile(p), /*unroll=*/1, /*predicated=*/true);
  t.registers_estimate = 32 + 2 * p.TM * p.TN;
  return t;
}

KernelFamily family() {
  return make_family<Params>(
      "my_tiles", /*revision=*/1, "my 2D thread tile",
      {tile_m_param("BM", &Params::BM, {32, 64, 128}),
       tile_n_param("BN", &Params::BN, {32, 64, 128}), tile_k_param("BK", &Params::BK, {8, 16}),
       thread_m_param("TM", &Params::TM, {2, 4, 8}), thread_n_param("TN", &Params::TN, {2, 4, 8})},
      rules().list, &reject, &traits);
}

}  // namespace gemm_tune::my_tiles
