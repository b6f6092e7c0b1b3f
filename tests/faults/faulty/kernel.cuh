// SPDX-License-Identifier: Apache-2.0
// faulty: kernels and compilations that do their worst, for tests of what a run makes of them.
//
// A plain GEMM, one thread per element, 16 x 16 tiles, any shape - but for its FAULT. Every loop
// that is meant to hang ends by the GPU's clock after a minute. ID only tells configs apart. (No
// text was found that crashes NVRTC 13: the fake workers of tests/tuner stand in for that.)
#pragma once

#include "kernel_templates/device/call/call_form.cuh"
#include "kernel_templates/device/call/epilogue.cuh"
#include "kernel_templates/device/tile/raster.cuh"
#include "kernel_templates/faulty/params.cuh"

namespace gemm_tune::faulty {

constexpr Params kP = TUNED_PARAMS;
static_assert(reject(kP) == nullptr);

// Two new types for each one: as many instantiations as no compiler ends with. A template argument
// that depends on FAULT keeps the others from them: this `if constexpr` is in no template.
template <class T, int Depth>
struct Tree {
  struct Left {};
  struct Right {};
  static constexpr int size() {
    return Tree<Left, Depth - 1>::size() + Tree<Right, Depth - 1>::size();
  }
};
template <class T>
struct Tree<T, 0> {
  static constexpr int size() { return sizeof(T); }
};

__device__ inline unsigned long long nanoseconds() {
  unsigned long long now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  return now;
}

__device__ inline void hang() {
  const unsigned long long start = nanoseconds();
  while (nanoseconds() - start < 60'000'000'000ull) __nanosleep(1000);
}

extern "C" __global__ void __launch_bounds__(kTile* kTile) gemm(const KernelArgs args) {
  const TileOrigin origin = tile_origin<kTile, kTile>(args.N);
  const int row = origin.row + static_cast<int>(threadIdx.x) / kTile;
  const int col = origin.col + static_cast<int>(threadIdx.x) % kTile;
  const bool first = blockIdx.x == 0 && threadIdx.x == 0;

  if constexpr (kP.FAULT == kIllegalAddress) args.D[1ll << 42] = 1.0f;
  if constexpr (kP.FAULT == kMisaligned) {
    const float4 four = *reinterpret_cast<const float4*>(args.A + 1);
    if (four.x == 12345.0f) args.D[0] = four.y;
  }
  if constexpr (kP.FAULT == kTrap) __trap();
  if constexpr (kP.FAULT == kEndlessLoop) hang();
  if constexpr (kP.FAULT == kUnwrittenTile) {
    if (blockIdx.x == 0) return;
  }
  if constexpr (kP.FAULT == kGuardBand) {
    if (first) args.D[-1] = 1.0f;
  }
  if constexpr (kP.FAULT == kSharedMemory) {
    __shared__ volatile float much[11 * 1024];
    much[threadIdx.x] = 0.0f;
  }
  if constexpr (kP.FAULT == kEndlessCompile) {
    constexpr int kDepth = kP.FAULT == kEndlessCompile ? 60 : 0;
    if (first) args.D[0] = static_cast<float>(Tree<int, kDepth>::size());
  }

  if (!in_bounds(row, args.M) || !in_bounds(col, args.N)) return;
  Vec<1> sum = {{0.0f}};
  const int K = reduction_length(args);
  for (int k = 0; k < K; ++k) sum.x[0] += args.A[row * args.lda + k] * args.B[k * args.ldb + col];
  if constexpr (kP.FAULT == kWrongResult) sum.x[0] += first ? 1.0f : 0.0f;
  if constexpr (kP.FAULT == kNan) sum.x[0] = first ? __int_as_float(0x7fc00000) : sum.x[0];
  store_d<1, false>(args, row, col, sum);
}

}  // namespace gemm_tune::faulty
