// SPDX-License-Identifier: Apache-2.0
// coarsened_1d: C = alpha * A * B + beta * C on CUDA cores, a thread computes TM rows of one
// column.
//
// A [M,K], B [K,N], C [M,N] row-major. A CTA computes BM x BN in slices of BK in shared memory.
// Each value of B is loaded once into a register and serves TM multiplications. PRED picks the edge
// handling: 1 for any shape, 0 for multiples of the tile.
#pragma once

#include "kernel_templates/device/thread_tile.cuh"
#include "kernel_templates/rules.h"

namespace gemm_tune::coarsened_1d {

struct Params {
  int BM, BN, BK, TM, PRED;
};

constexpr ThreadTile tile(const Params& p) { return {p.BM, p.BN, p.BK, p.TM, 1}; }
constexpr int threads(const Params& p) { return threads(tile(p)); }
constexpr int unroll(const Params& p) { return unroll_factor(p.BK, p.TM); }

constexpr Rule<Params> kRules[] = {
    {kUndividedTile, "BM TM", [](const Params& p) { return p.BM % p.TM != 0; }},
    {kTooManySums, "TM", [](const Params& p) { return p.TM > 128; }},
    whole_warps<Params>("BM BN TM"),
    at_most_1024_threads<Params>("BM BN TM"),
};

constexpr const char* reject(const Params& p) {
  if (!are_tile_sizes(tile(p))) return kBadTileSize;
  if (!is_flag(p.PRED)) return "PRED must be 0 or 1";
  return first_broken(kRules, p);
}

}  // namespace gemm_tune::coarsened_1d

#ifdef TUNED_PARAMS

#include "kernel_templates/device/gemm_args.cuh"
#include "kernel_templates/device/tile_gemm.cuh"

namespace gemm_tune::coarsened_1d {

constexpr Params kP = TUNED_PARAMS;
static_assert(reject(kP) == nullptr);

__device__ inline void multiply_slice(float (&sum)[kP.TM][1], const float* a_tile,
                                      const float* b_tile, int row, int col) {
  constexpr int kUnroll = unroll(kP);
#pragma unroll kUnroll
  for (int k = 0; k < kP.BK; ++k) {
    const float b = b_tile[k * kP.BN + col];
#pragma unroll
    for (int i = 0; i < kP.TM; ++i) sum[i][0] += a_tile[(row + i) * kP.BK + k] * b;
  }
}

extern "C" __global__ void __launch_bounds__(threads(kP)) gemm(const GemmArgs all) {
  compute_tile<tile(kP), kP.PRED != 0>(
      all, [](float(&sum)[kP.TM][1], const float* a_tile, const float* b_tile, int row, int col) {
        multiply_slice(sum, a_tile, b_tile, row, col);
      });
}

}  // namespace gemm_tune::coarsened_1d

#else  // the host: cost and search space

#include "kernel_templates/cost.h"
#include "kernel_templates/family.h"

namespace gemm_tune::coarsened_1d {

inline Traits traits(const Params& p) {
  Traits t = thread_tile_traits(tile(p), unroll(p), p.PRED != 0);
  // Fitted on sm_90 (CUDA 13.0); over 25 other configs the root mean square error is 10.
  t.registers_estimate =
      static_cast<int>(20 + 2.8 * p.TM + 5 * tile_loads(p.BM + p.BN, p.BK, threads(p), 1));
  return t;
}

inline KernelFamily family() {
  return make_family<Params>(
      "coarsened_1d", "TM rows of one column per thread, slices of A and B in shared memory",
      {{"BM", &Params::BM, {32, 64, 128}, "CTA tile rows"},
       {"BN", &Params::BN, {32, 64, 128}, "CTA tile columns"},
       {"BK", &Params::BK, {8, 16, 32}, "K elements per slice in shared memory"},
       {"TM", &Params::TM, {4, 8, 16}, "thread tile rows"},
       predicated_param("PRED", &Params::PRED)},
      kRules, &reject, &traits);
}

}  // namespace gemm_tune::coarsened_1d

#endif
