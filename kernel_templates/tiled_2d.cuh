// SPDX-License-Identifier: Apache-2.0
// tiled_2d: C = alpha * A * B + beta * C on CUDA cores, a 2D thread tile fed by scalar accesses.
//
// A [M,K], B [K,N], C [M,N] row-major. A CTA computes BM x BN, a thread TM x TN, in slices of BK in
// shared memory, both stored as they lie in global memory. A k step loads TM + TN values for
// TM * TN multiplications. PRED picks the edge handling: 1 for any shape, 0 for multiples of the
// tile. vectorized_2d is the next step.
#pragma once

#include "kernel_templates/device/thread_tile.cuh"
#include "kernel_templates/rules.h"

namespace gemm_tune::tiled_2d {

struct Params {
  int BM, BN, BK, TM, TN, PRED;
};

constexpr ThreadTile tile(const Params& p) { return {p.BM, p.BN, p.BK, p.TM, p.TN}; }
constexpr int threads(const Params& p) { return threads(tile(p)); }
// k steps to unroll. Further, and the compiler fetches A four k steps at a time: 185 registers for
// an 8 x 8 tile instead of 127.
constexpr int unroll(const Params& p) { return min_of(p.BK, max_of(1, 128 / (p.TM * p.TN))); }

constexpr Rule<Params> kRules[] = {
    {kUndividedTile, "BM TM", [](const Params& p) { return p.BM % p.TM != 0; }},
    {kUndividedTile, "BN TN", [](const Params& p) { return p.BN % p.TN != 0; }},
    {kTooManySums, "TM TN", [](const Params& p) { return p.TM * p.TN > 128; }},
    whole_warps<Params>("BM BN TM TN"),
    at_most_1024_threads<Params>("BM BN TM TN"),
};

constexpr const char* reject(const Params& p) {
  if (!are_tile_sizes(tile(p))) return kBadTileSize;
  if (!is_flag(p.PRED)) return "PRED must be 0 or 1";
  return first_broken(kRules, p);
}

}  // namespace gemm_tune::tiled_2d

#ifdef TUNED_PARAMS

#include "kernel_templates/device/gemm_args.cuh"
#include "kernel_templates/device/tile_gemm.cuh"

namespace gemm_tune::tiled_2d {

constexpr Params kP = TUNED_PARAMS;
static_assert(reject(kP) == nullptr);

__device__ inline void multiply_slice(float (&sum)[kP.TM][kP.TN], const float* a_tile,
                                      const float* b_tile, int row, int col) {
  constexpr int kUnroll = unroll(kP);
#pragma unroll kUnroll
  for (int k = 0; k < kP.BK; ++k) {
    float a[kP.TM], b[kP.TN];
#pragma unroll
    for (int i = 0; i < kP.TM; ++i) a[i] = a_tile[(row + i) * kP.BK + k];
#pragma unroll
    for (int j = 0; j < kP.TN; ++j) b[j] = b_tile[k * kP.BN + col + j];
#pragma unroll
    for (int i = 0; i < kP.TM; ++i) {
#pragma unroll
      for (int j = 0; j < kP.TN; ++j) sum[i][j] += a[i] * b[j];
    }
  }
}

extern "C" __global__ void __launch_bounds__(threads(kP)) gemm(const GemmArgs all) {
  compute_tile<tile(kP), kP.PRED != 0>(
      all, [](float(&sum)[kP.TM][kP.TN], const float* a_tile, const float* b_tile, int row,
              int col) { multiply_slice(sum, a_tile, b_tile, row, col); });
}

}  // namespace gemm_tune::tiled_2d

#else  // the host: cost and search space

#include "kernel_templates/cost.h"
#include "kernel_templates/family.h"

namespace gemm_tune::tiled_2d {

inline Traits traits(const Params& p) {
  Traits t = thread_tile_traits(tile(p), unroll(p), p.PRED != 0);
  // Fitted on sm_90 (CUDA 13.0); over 29 other configs the root mean square error is 18.
  t.registers_estimate =
      static_cast<int>(38 + 1.5 * p.TM * p.TN + 3.6 * tile_loads(p.BM + p.BN, p.BK, threads(p), 1));
  return t;
}

inline KernelFamily family() {
  return make_family<Params>("tiled_2d",
                             "2D thread tile, scalar accesses, slices of A and B in shared memory",
                             {{"BM", &Params::BM, {32, 64, 128}, "CTA tile rows"},
                              {"BN", &Params::BN, {32, 64, 128}, "CTA tile columns"},
                              {"BK", &Params::BK, {8, 16}, "K elements per slice in shared memory"},
                              {"TM", &Params::TM, {2, 4, 8}, "thread tile rows"},
                              {"TN", &Params::TN, {2, 4, 8}, "thread tile columns"},
                              predicated_param("PRED", &Params::PRED)},
                             kRules, &reject, &traits);
}

}  // namespace gemm_tune::tiled_2d

#endif
