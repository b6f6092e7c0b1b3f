// SPDX-License-Identifier: Apache-2.0
// tiled_2d: C = alpha * A * B + beta * C on CUDA cores, a 2D thread tile fed by scalar accesses.
//
// A [M,K], B [K,N], C [M,N] row-major. A CTA computes BM x BN, a thread TM x TN, in slices of BK in
// shared memory, both stored as they lie in global memory. A k step loads TM + TN values for
// TM * TN multiplications. PRED picks the edge handling: 1 for any shape, 0 for multiples of the
// tile. vectorized_2d is the next step.
#pragma once

#include "kernel_templates/rules.h"

namespace gemm_tune::tiled_2d {

struct Params {
  int BM, BN, BK, TM, TN, PRED;
};

constexpr int threads_n(const Params& p) { return p.BN / p.TN; }
constexpr int threads(const Params& p) { return p.BM / p.TM * threads_n(p); }
constexpr int smem_bytes(const Params& p) {
  return (smem_floats(p.BM * p.BK) + smem_floats(p.BK * p.BN)) * int(sizeof(float));
}
// k steps to unroll. Further, and the compiler fetches A four k steps at a time: 185 registers for
// an 8 x 8 tile instead of 127.
constexpr int unroll(const Params& p) { return min_of(p.BK, max_of(1, 128 / (p.TM * p.TN))); }

constexpr Rule<Params> kRules[] = {
    {"thread tile does not divide CTA tile", "BM TM",
     [](const Params& p) { return p.BM % p.TM != 0; }},
    {"thread tile does not divide CTA tile", "BN TN",
     [](const Params& p) { return p.BN % p.TN != 0; }},
    {"thread tile holds more than 128 accumulators", "TM TN",
     [](const Params& p) { return p.TM * p.TN > 128; }},
    {"threads per CTA are not whole warps", "BM BN TM TN",
     [](const Params& p) { return threads(p) % 32 != 0; }},
    {"more than 1024 threads per CTA", "BM BN TM TN",
     [](const Params& p) { return threads(p) > 1024; }},
};

constexpr const char* reject(const Params& p) {
  if (!is_tile_size(p.BM) || !is_tile_size(p.BN) || !is_tile_size(p.BK) || !is_tile_size(p.TM) ||
      !is_tile_size(p.TN))
    return kBadTileSize;
  if (!is_flag(p.PRED)) return "PRED must be 0 or 1";
  return first_broken(kRules, p);
}

}  // namespace gemm_tune::tiled_2d

#ifdef TUNED_PARAMS

#include "kernel_templates/device/epilogue.cuh"
#include "kernel_templates/device/gemm_args.cuh"
#include "kernel_templates/device/raster.cuh"
#include "kernel_templates/device/smem.cuh"
#include "kernel_templates/device/tile_load.cuh"
#include "kernel_templates/device/tile_store.cuh"

namespace gemm_tune::tiled_2d {

constexpr Params kP = TUNED_PARAMS;
static_assert(reject(kP) == nullptr);
constexpr bool kPredicated = kP.PRED != 0;

// row and col: of the thread's first element in the CTA tile.
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
  const GemmArgs args = batch_entry(all);
  SharedMemory smem;
  float* const a_tile = smem.take(kP.BM * kP.BK);  // [BM][BK]
  float* const b_tile = smem.take(kP.BK * kP.BN);  // [BK][BN]
  const TileOrigin origin = tile_origin<kP.BM, kP.BN>(args.N);
  const int row = static_cast<int>(threadIdx.x) / threads_n(kP) * kP.TM;
  const int col = static_cast<int>(threadIdx.x) % threads_n(kP) * kP.TN;
  const float* a = args.A + origin.row * args.lda;
  const float* b = args.B + origin.col;
  const int K = reduction_length(args);

  float sum[kP.TM][kP.TN] = {};
  for (int k0 = 0; k0 < K; k0 += kP.BK) {
    TileCopy<kP.BM, kP.BK, threads(kP), 1, kPredicated, TileOrder::row_major, kP.BK> a_copy;
    TileCopy<kP.BK, kP.BN, threads(kP), 1, kPredicated, TileOrder::row_major, kP.BN> b_copy;
    a_copy.load(a + k0, args.lda, args.M - origin.row, K - k0);
    b_copy.load(b + k0 * args.ldb, args.ldb, K - k0, args.N - origin.col);
    a_copy.store(a_tile);
    b_copy.store(b_tile);
    __syncthreads();
    multiply_slice(sum, a_tile, b_tile, row, col);
    __syncthreads();
  }
  store_thread_tile<1, kPredicated>(
      sum, args, [&](int i) { return origin.row + row + i; },
      [&](int j) { return origin.col + col + j; });
}

}  // namespace gemm_tune::tiled_2d

#else  // the host: cost and search space

#include "kernel_templates/cost.h"
#include "kernel_templates/family.h"

namespace gemm_tune::tiled_2d {

inline Traits traits(const Params& p) {
  Traits t;
  t.threads = threads(p);
  t.tile_m = p.BM;
  t.tile_n = p.BN;
  t.tile_k = p.BK;
  t.thread_m = p.TM;
  t.thread_n = p.TN;
  t.smem_bytes = smem_bytes(p);
  t.predicated = p.PRED != 0;
  t.barriers_per_tile_k = 2;

  // Unrolled, the compiler merges neighbouring loads: along k for A, along a row for B.
  const int a_vec = vector_width(p.BK, unroll(p));
  const int b_vec = vector_width(p.TN);
  const AccessCost feed =
      shared_load_cost(
          threads(p), threads_n(p), 1.0 * p.TM / a_vec, a_vec,
          [&](int thread) -> long long { return thread / threads_n(p) * p.TM * p.BK; }) +
      shared_load_cost(threads(p), threads_n(p), 1.0 * p.TN / b_vec, b_vec,
                       [&](int thread) -> long long { return thread % threads_n(p) * p.TN; });
  t.feed_instructions_per_k = feed.instructions;
  t.feed_wavefronts_per_k = feed.wavefronts;
  const AccessCost fill = tile_copy_cost(p.BM, p.BK, threads(p), 1, TileOrder::row_major, p.BK) +
                          tile_copy_cost(p.BK, p.BN, threads(p), 1, TileOrder::row_major, p.BN);
  t.fill_instructions_per_tile_k = fill.instructions;
  t.fill_wavefronts_per_tile_k = fill.wavefronts;
  const double loads = tile_loads(p.BM + p.BN, p.BK, threads(p), 1);
  t.other_instructions_per_k = overhead_per_k(p.BK, unroll(p), loads, t.predicated);
  // Fitted on sm_90 (CUDA 13.0); over 29 other configs the root mean square error is 18.
  t.registers_estimate = static_cast<int>(38 + 1.5 * p.TM * p.TN + 3.6 * loads);
  return t;
}

inline KernelFamily family() {
  return make_family<Params>(
      "tiled_2d", "2D thread tile, scalar accesses, slices of A and B in shared memory",
      {{"BM", &Params::BM, {32, 64, 128}, "CTA tile rows"},
       {"BN", &Params::BN, {32, 64, 128}, "CTA tile columns"},
       {"BK", &Params::BK, {8, 16}, "K elements per slice in shared memory"},
       {"TM", &Params::TM, {2, 4, 8}, "thread tile rows"},
       {"TN", &Params::TN, {2, 4, 8}, "thread tile columns"},
       {"PRED", &Params::PRED, {0, 1}, "1: predicated edges, any shape; 0: whole tiles only"}},
      kRules, &reject, &traits);
}

}  // namespace gemm_tune::tiled_2d

#endif
