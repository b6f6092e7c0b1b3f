// SPDX-License-Identifier: Apache-2.0
// The family vectorized_2d as the host sees it: cost and search space.
#include "kernel_templates/family.h"

#include <array>
#include <map>

#include "kernel_templates/cost.h"
#include "kernel_templates/registry/families.h"
#include "kernel_templates/vectorized_2d/params.cuh"

namespace gemm_tune::vectorized_2d {
namespace {

// Per warp and k step: loading a thread's rows (or columns) from a row of a slice. Which of
// them one access may fetch depends on how the k-th row is aligned, which the compiler knows after
// unrolling: the mean over the rows until the alignment repeats.
AccessCost count_fragment_loads(const Params& p, bool is_of_a) {
  const int t = is_of_a ? p.TM : p.TN;
  const int count = is_of_a ? threads_m(p) : threads_n(p), ld = is_of_a ? a_ld(p) : b_ld(p);
  const int run = p.INTERLEAVE != 0 ? group(t) : t;  // neighbours in shared memory
  const int rows = 4 / vector_width(ld);
  AccessCost cost;
  for (int k = 0; k < rows; ++k) {
    for (int i = 0; i < run;) {
      int vec = group(t);
      while (vec > 1 && ((k * ld + i) % vec != 0 || vec > run - i)) vec /= 2;
      cost = cost + shared_load_cost(threads(p), threads_n(p), 1.0 * t / run / rows, vec,
                                     [&](int thread) -> long long {
                                       const int place =
                                           is_of_a ? thread / threads_n(p) : thread % threads_n(p);
                                       return k * ld + i + group_offset(p, t, count, place, 0);
                                     });
      i += vec;
    }
  }
  return cost;
}

AccessCost fragment_cost(const Params& p, bool is_of_a) {
  // The points of a space differ in what does not matter here, too.
  thread_local std::map<std::array<int, 7>, AccessCost> known;
  const auto [at, is_new] =
      known.try_emplace({p.BM, p.BN, p.TM, p.TN, p.PAD, p.INTERLEAVE, is_of_a ? 1 : 0});
  if (is_new) at->second = count_fragment_loads(p, is_of_a);
  return at->second;
}

Traits traits(const Params& p) {
  Traits t = tile_traits({p.BM, p.BN, p.BK, p.TM, p.TN}, threads(p), smem_bytes(p));
  t.vec = p.VEC;
  t.predicated = p.PRED != 0;
  t.repack = p.REPACK != 0;
  t.barriers_per_tile_k = 2;

  const AccessCost feed = fragment_cost(p, true) + fragment_cost(p, false);
  t.feed_instructions_per_k = feed.instructions;
  t.feed_wavefronts_per_k = feed.wavefronts;
  const AccessCost fill =
      tile_copy_cost(p.BM, p.BK, threads(p), p.VEC, TileOrder::transposed, a_ld(p)) +
      tile_copy_cost(p.BK, p.BN, threads(p), p.VEC, TileOrder::row_major, b_ld(p));
  t.fill_instructions_per_tile_k = fill.instructions;
  t.fill_wavefronts_per_tile_k = fill.wavefronts;
  const double loads = tile_loads(p.BM + p.BN, p.BK, threads(p), p.VEC);
  t.other_instructions_per_k =
      overhead_per_k(p.BK, unroll_factor(p.BK, p.TM * p.TN), loads, t.predicated);
  // Fitted on sm_90 (CUDA 13.0); over 130 random configs the root mean square error is 14.
  t.registers_estimate = static_cast<int>(22 + 1.2 * p.TM * p.TN + (3.5 + 0.9 * p.VEC) * loads);
  return t;
}

}  // namespace

KernelFamily family() {
  KernelFamily family = make_family<Params>(
      "vectorized_2d", /*revision=*/1,
      "2D thread tile, vector accesses, A transposed in shared memory",
      {tile_m_param("BM", &Params::BM, {32, 64, 128, 256}),
       tile_n_param("BN", &Params::BN, {32, 64, 128, 256}),
       tile_k_param("BK", &Params::BK, {8, 16, 32}),
       thread_m_param("TM", &Params::TM, {4, 8, 16}),
       thread_n_param("TN", &Params::TN, {4, 8, 16}),
       vector_width_param("VEC", &Params::VEC),
       {"PAD", &Params::PAD, {0, 1, 4}, "floats between two rows in shared memory"},
       {"INTERLEAVE", &Params::INTERLEAVE, {0, 1}, "1: deal a thread's tile out in groups"},
       predicated_param("PRED", &Params::PRED),
       repack_param("REPACK", &Params::REPACK)},
      rules().list, &reject, &traits);
  family.rungs = {
      {"vectorised, bounds-checked",
       "vectorized_2d/BM=128,BN=128,BK=8,TM=8,TN=8,VEC=4,PAD=0,INTERLEAVE=0,PRED=1",
       "128-bit accesses and A transposed, with a bounds check at every access"},
      {"vectorised", "vectorized_2d/BM=128,BN=128,BK=8,TM=8,TN=8,VEC=4,PAD=0,INTERLEAVE=0,PRED=0",
       "the same without bounds checks, for sizes that are multiples of the tile"},
      {"vectorised, padded",
       "vectorized_2d/BM=128,BN=128,BK=8,TM=8,TN=8,VEC=4,PAD=4,INTERLEAVE=0,PRED=0",
       "padded rows spread the transposed stores of A over the banks"},
      {"vectorised, padded, interleaved",
       "vectorized_2d/BM=128,BN=128,BK=8,TM=8,TN=8,VEC=4,PAD=4,INTERLEAVE=1,PRED=0",
       "a warp's loads of fragments touch neighbouring banks: no conflicts are left"},
  };
  return family;
}

}  // namespace gemm_tune::vectorized_2d
