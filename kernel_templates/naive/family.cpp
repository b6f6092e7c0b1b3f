// SPDX-License-Identifier: Apache-2.0
// The family naive as the host sees it: cost and search space.
#include "kernel_templates/family.h"

#include "kernel_templates/cost.h"
#include "kernel_templates/naive/params.cuh"
#include "kernel_templates/registry/families.h"

namespace gemm_tune::naive {
namespace {

// Wavefronts of one k step's two loads: an element of A per row, an element of B per column.
double feed_wavefronts(const Params& p) {
  constexpr long long kFarApart = 1 << 20;  // words between rows of A
  const int period = p.COALESCED != 0 ? p.BN : p.BM;
  const auto count = [](const WarpWords& words) { return global_wavefronts(words, 1); };
  const auto a = [&](int thread) { return std::optional(thread_row(p, thread) * kFarApart); };
  const auto b = [&](int thread) { return std::optional<long long>(thread_col(p, thread)); };
  return mean_over_warps(threads(p), period, a, count) +
         mean_over_warps(threads(p), period, b, count);
}

Traits traits(const Params& p) {
  Traits t;
  t.threads = threads(p);
  t.tile_m = p.BM;
  t.tile_n = p.BN;
  t.predicated = p.PRED != 0;
  t.registers_estimate = 40;
  t.feed_instructions_per_k = 2;
  t.feed_wavefronts_per_k = feed_wavefronts(p);
  t.other_instructions_per_k = 3;
  t.reads_global_in_inner_loop = true;
  return t;
}

}  // namespace

// A thread adds up all of K in rising order.
std::optional<std::string> order_of_sums(Values) { return "rising"; }

KernelFamily family() {
  KernelFamily family = make_family<Params>(
      "naive", /*revision=*/1, "one thread per element, straight from global memory",
      {tile_m_param("BM", &Params::BM, {8, 16, 32}),
       tile_n_param("BN", &Params::BN, {8, 16, 32}),
       {"COALESCED", &Params::COALESCED, {0, 1}, "1: neighbouring threads along a row of C"},
       predicated_param("PRED", &Params::PRED)},
      rules().list, &reject, &traits);
  family.rungs = {
      {"naive, uncoalesced", "naive/BM=32,BN=32,COALESCED=0,PRED=0",
       "neighbouring threads walk down a column: each lane touches a line of its own"},
      {"naive, coalesced", "naive/BM=32,BN=32,COALESCED=1,PRED=0",
       "neighbouring threads walk along a row: a warp's accesses share lines"},
  };
  return family;
}

}  // namespace gemm_tune::naive
