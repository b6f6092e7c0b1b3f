// SPDX-License-Identifier: Apache-2.0
// A user's family that is wrong on a GPU where its FAULT says so (on_gpu_test.py).
#include "kernel_templates/family.h"

#include "params.cuh"

namespace gemm_tune::edges {
namespace {

Traits traits(const Params& p) {
  Traits t;
  t.threads = threads(p);
  t.tile_m = t.tile_n = p.TILE;
  t.predicated = true;
  t.registers_estimate = 40;
  t.feed_instructions_per_k = 2;
  t.feed_wavefronts_per_k = 2;
  t.other_instructions_per_k = 3;
  t.reads_global_in_inner_loop = true;
  return t;
}

}  // namespace

KernelFamily family() {
  return make_family<Params>("edges", /*revision=*/1, "one thread per element, with a fault",
                             {{"TILE", &Params::TILE, {8, 16, 32}, "rows and columns of a CTA"},
                              {"FAULT", &Params::FAULT, {0}, "what is wrong"}},
                             kRules, &reject, &traits);
}

}  // namespace gemm_tune::edges
