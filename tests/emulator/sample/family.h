// SPDX-License-Identifier: Apache-2.0
// The family sample as the host sees it.
#pragma once

#include "kernel_templates/family.h"
#include "tests/emulator/sample/params.cuh"

namespace gemm_tune::sample {

inline Traits traits(const Params& p) {
  Traits t;
  t.threads = kThreads;
  t.tile_m = t.tile_n = kTile;
  t.tile_k = kSlice;
  t.split_k = p.SPLIT_K;
  t.tail_ctas_per_sm = p.TAIL;
  t.transposed_a = p.TA != 0;
  t.transposed_b = p.TB != 0;
  t.predicated = true;
  return t;
}

inline KernelFamily family() {
  return make_family<Params>("sample", /*revision=*/1, "for tests of the emulator",
                             {{"SPLIT_K", &Params::SPLIT_K, {1, 4}, "CTAs that share a tile"},
                              {"TAIL", &Params::TAIL, {0, 1}, "CTAs per SM"},
                              transposed_a_param("TA", &Params::TA),
                              transposed_b_param("TB", &Params::TB),
                              {"FAULT", &Params::FAULT, {0}, "what is wrong"}},
                             kRules, &reject, &traits);
}

}  // namespace gemm_tune::sample
