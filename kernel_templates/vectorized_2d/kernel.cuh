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

#include "kernel_templates/device/call/call_form.cuh"
#include "kernel_templates/device/call/epilogue.cuh"
#include "kernel_templates/device/copy/pre_pass.cuh"
#include "kernel_templates/device/copy/tile_load.cuh"
#include "kernel_templates/device/tile/raster.cuh"
#include "kernel_templates/device/tile/smem.cuh"
#include "kernel_templates/device/tile/tile_store.cuh"
#include "kernel_templates/vectorized_2d/params.cuh"

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

extern "C" __global__ void __launch_bounds__(threads(kP)) gemm(const KernelArgs all) {
  const KernelArgs args = batch_entry(all);
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
