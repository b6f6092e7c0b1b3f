// SPDX-License-Identifier: Apache-2.0
// vectorized_2d: C = alpha * A * B + beta * C on CUDA cores, a 2D thread tile fed by vector
// accesses.
//
// A [M,K], B [K,N], C [M,N] row-major. A CTA computes BM x BN, a thread TM x TN, in slices of BK. A
// is transposed on its way into shared memory, so that both fragments of a k step are contiguous
// there. PAD floats between rows spread the transposed stores over the banks; INTERLEAVE deals a
// thread's rows and columns out in groups of four across the CTA tile, so that a warp's loads touch
// neighbouring banks. PRED picks the edge handling: 1 for any shape, 0 for multiples of the tile.
#pragma once

#include "kernel_templates/device/thread_tile.cuh"
#include "kernel_templates/rules.h"

namespace gemm_tune::vectorized_2d {

struct Params {
  int BM, BN, BK, TM, TN, VEC, PAD, INTERLEAVE, PRED;
};

constexpr int threads_m(const Params& p) { return p.BM / p.TM; }
constexpr int threads_n(const Params& p) { return p.BN / p.TN; }
constexpr int threads(const Params& p) { return threads_m(p) * threads_n(p); }
constexpr int a_ld(const Params& p) { return p.BM + p.PAD; }
constexpr int b_ld(const Params& p) { return p.BN + p.PAD; }
constexpr int smem_bytes(const Params& p) {
  return (smem_floats(p.BK * a_ld(p)) + smem_floats(p.BK * b_ld(p))) * int(sizeof(float));
}
// A thread's rows come in groups of this many neighbours; without INTERLEAVE the groups touch.
constexpr int group(int t) { return vector_width(t); }
// Elements per shared-memory access of a fragment.
constexpr int fragment_vec(int t, int ld) { return vector_width(group(t), ld); }
// Offset in the CTA tile of group g of the t rows (or columns) of a thread, one of count along that
// edge.
constexpr int group_offset(const Params& p, int t, int count, int thread, int g) {
  return p.INTERLEAVE != 0 ? (g * count + thread) * group(t) : thread * t + g * group(t);
}
// Elements per store of C.
constexpr int store_vec_width(const Params& p) { return min_of(p.VEC, group(p.TN)); }

constexpr Rule<Params> kRules[] = {
    {kUndividedTile, "BM TM", [](const Params& p) { return p.BM % p.TM != 0; }},
    {kUndividedTile, "BN TN", [](const Params& p) { return p.BN % p.TN != 0; }},
    {kTooManySums, "TM TN", [](const Params& p) { return p.TM * p.TN > 128; }},
    whole_warps<Params>("BM BN TM TN"),
    at_most_1024_threads<Params>("BM BN TM TN"),
    {"vector access does not divide a row of a slice", "BN BK VEC",
     [](const Params& p) { return p.BK % p.VEC != 0 || p.BN % p.VEC != 0; }},
    {"slice of A is not a whole number of vector loads per thread", "BM BN BK TM TN VEC",
     [](const Params& p) { return p.BM * p.BK % (threads(p) * p.VEC) != 0; }},
    {"slice of B is not a whole number of vector loads per thread", "BM BN BK TM TN VEC",
     [](const Params& p) { return p.BN * p.BK % (threads(p) * p.VEC) != 0; }},
    {"interleaving needs more than one group per thread", "TM TN INTERLEAVE",
     [](const Params& p) {
       return p.INTERLEAVE != 0 && p.TM == group(p.TM) && p.TN == group(p.TN);
     }},
};

constexpr const char* reject(const Params& p) {
  if (!are_tile_sizes({p.BM, p.BN, p.BK, p.TM, p.TN})) return kBadTileSize;
  if (p.VEC != 1 && p.VEC != 2 && p.VEC != 4) return "VEC must be 1, 2 or 4";
  if (p.PAD < 0 || p.PAD > 32) return "PAD must lie between 0 and 32";
  if (!is_flag(p.INTERLEAVE) || !is_flag(p.PRED)) return "INTERLEAVE and PRED must be 0 or 1";
  return first_broken(kRules, p);
}

}  // namespace gemm_tune::vectorized_2d

#ifdef TUNED_PARAMS

#include "kernel_templates/device/epilogue.cuh"
#include "kernel_templates/device/gemm_args.cuh"
#include "kernel_templates/device/raster.cuh"
#ifdef TUNED_REPACK
#include "kernel_templates/device/repack.cuh"
#endif
#include "kernel_templates/device/smem.cuh"
#include "kernel_templates/device/tile_load.cuh"
#include "kernel_templates/device/tile_store.cuh"

namespace gemm_tune::vectorized_2d {

constexpr Params kP = TUNED_PARAMS;
static_assert(reject(kP) == nullptr);
constexpr bool kPredicated = kP.PRED != 0;

// Loads a thread's T elements of one k step from a row of a shared-memory slice.
template <int T, int COUNT, int LD>
__device__ inline void load_fragment(float (&fragment)[T], const float* row, int thread) {
  constexpr int kGroup = group(T);
  constexpr int kVec = fragment_vec(T, LD);
#pragma unroll
  for (int g = 0; g < T / kGroup; ++g) {
    const float* p = row + group_offset(kP, T, COUNT, thread, g);
#pragma unroll
    for (int i = 0; i < kGroup; i += kVec) {
      const Vec<kVec> v = load_vec<kVec>(p + i);
#pragma unroll
      for (int j = 0; j < kVec; ++j) fragment[g * kGroup + i + j] = v.x[j];
    }
  }
}

__device__ inline void multiply_slice(float (&sum)[kP.TM][kP.TN], const float* a_tile,
                                      const float* b_tile, int thread_m, int thread_n) {
  constexpr int kUnroll = unroll_factor(kP.BK, kP.TM * kP.TN);
#pragma unroll kUnroll
  for (int k = 0; k < kP.BK; ++k) {
    float a[kP.TM], b[kP.TN];
    load_fragment<kP.TM, threads_m(kP), a_ld(kP)>(a, a_tile + k * a_ld(kP), thread_m);
    load_fragment<kP.TN, threads_n(kP), b_ld(kP)>(b, b_tile + k * b_ld(kP), thread_n);
#pragma unroll
    for (int i = 0; i < kP.TM; ++i) {
#pragma unroll
      for (int j = 0; j < kP.TN; ++j) sum[i][j] += a[i] * b[j];
    }
  }
}

// The place in the CTA tile of element i of a thread's t rows (or columns).
__device__ inline int tile_index(int t, int count, int thread, int i) {
  return group_offset(kP, t, count, thread, i / group(t)) + i % group(t);
}

extern "C" __global__ void __launch_bounds__(threads(kP)) gemm(const GemmArgs all) {
  const GemmArgs args = batch_entry(all);
  SharedMemory smem;
  float* const a_tile = smem.take(kP.BK * a_ld(kP));  // [BK][BM + PAD]
  float* const b_tile = smem.take(kP.BK * b_ld(kP));  // [BK][BN + PAD]
  const TileOrigin origin = tile_origin<kP.BM, kP.BN>(args.N);
  const int thread_m = static_cast<int>(threadIdx.x) / threads_n(kP);
  const int thread_n = static_cast<int>(threadIdx.x) % threads_n(kP);
  const float* a = args.A + origin.row * args.lda;
  const float* b = args.B + origin.col;
  const int K = reduction_length(args);

  float sum[kP.TM][kP.TN] = {};
  for (int k0 = 0; k0 < K; k0 += kP.BK) {
    TileCopy<kP.BM, kP.BK, threads(kP), kP.VEC, kPredicated, TileOrder::transposed, a_ld(kP)>
        a_copy;
    TileCopy<kP.BK, kP.BN, threads(kP), kP.VEC, kPredicated, TileOrder::row_major, b_ld(kP)> b_copy;
    a_copy.load(a + k0, args.lda, args.M - origin.row, K - k0);
    b_copy.load(b + k0 * args.ldb, args.ldb, K - k0, args.N - origin.col);
    __syncthreads();  // only now may the last slice be overwritten; the loads did not wait for it
    a_copy.store(a_tile);
    b_copy.store(b_tile);
    __syncthreads();
    multiply_slice(sum, a_tile, b_tile, thread_m, thread_n);
  }
  store_thread_tile<store_vec_width(kP), kPredicated>(
      sum, args, [&](int i) { return origin.row + tile_index(kP.TM, threads_m(kP), thread_m, i); },
      [&](int j) { return origin.col + tile_index(kP.TN, threads_n(kP), thread_n, j); });
}

}  // namespace gemm_tune::vectorized_2d

#else  // the host: cost and search space

#include "kernel_templates/cost.h"
#include "kernel_templates/family.h"

namespace gemm_tune::vectorized_2d {

// Per warp and k step: loading the t rows (or columns) of a thread from a row of a slice. Which of
// them one access may fetch depends on how the k-th row is aligned, which the compiler knows after
// unrolling: the mean over the rows until the alignment repeats.
inline AccessCost fragment_cost(const Params& p, int t, int count, int ld,
                                const std::function<int(int)>& place) {
  const int run = p.INTERLEAVE != 0 ? group(t) : t;  // neighbours in shared memory
  const int rows = 4 / vector_width(ld);
  AccessCost cost;
  for (int k = 0; k < rows; ++k) {
    for (int i = 0; i < run;) {
      int vec = group(t);
      while (vec > 1 && ((k * ld + i) % vec != 0 || vec > run - i)) vec /= 2;
      cost =
          cost + shared_load_cost(threads(p), threads_n(p), 1.0 * t / run / rows, vec,
                                  [&](int thread) -> long long {
                                    return k * ld + i + group_offset(p, t, count, place(thread), 0);
                                  });
      i += vec;
    }
  }
  return cost;
}

inline Traits traits(const Params& p) {
  Traits t;
  t.threads = threads(p);
  t.tile_m = p.BM;
  t.tile_n = p.BN;
  t.tile_k = p.BK;
  t.thread_m = p.TM;
  t.thread_n = p.TN;
  t.smem_bytes = smem_bytes(p);
  t.vec = p.VEC;
  t.predicated = p.PRED != 0;
  t.barriers_per_tile_k = 2;

  const AccessCost feed =
      fragment_cost(p, p.TM, threads_m(p), a_ld(p), [&](int t) { return t / threads_n(p); }) +
      fragment_cost(p, p.TN, threads_n(p), b_ld(p), [&](int t) { return t % threads_n(p); });
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

inline KernelFamily family() {
  return make_family<Params>(
      "vectorized_2d", "2D thread tile, vector accesses, A transposed in shared memory",
      {{"BM", &Params::BM, {32, 64, 128, 256}, "CTA tile rows"},
       {"BN", &Params::BN, {32, 64, 128, 256}, "CTA tile columns"},
       {"BK", &Params::BK, {8, 16, 32}, "K elements per slice in shared memory"},
       {"TM", &Params::TM, {4, 8, 16}, "thread tile rows"},
       {"TN", &Params::TN, {4, 8, 16}, "thread tile columns"},
       vector_width_param("VEC", &Params::VEC),
       {"PAD", &Params::PAD, {0, 1, 4}, "floats between two rows in shared memory"},
       {"INTERLEAVE", &Params::INTERLEAVE, {0, 1}, "1: deal a thread's tile out in groups"},
       predicated_param("PRED", &Params::PRED)},
      kRules, &reject, &traits);
}

}  // namespace gemm_tune::vectorized_2d

#endif
