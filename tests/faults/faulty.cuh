// SPDX-License-Identifier: Apache-2.0
// faulty: kernels and compilations that do their worst, for tests of what a run makes of them.
//
// A plain GEMM, one thread per element, 16 x 16 tiles, any shape - but for its FAULT. Every loop
// that is meant to hang ends by the GPU's clock after a minute. ID only tells configs apart. (No
// text was found that crashes NVRTC 13: the fake workers of tests/tuner stand in for that.)
#pragma once

#include "kernel_templates/rules.h"

namespace gemm_tune::faulty {

struct Params {
  int FAULT, ID;
};

enum Fault {
  kIllegalAddress = 1,
  kMisaligned,
  kTrap,
  kEndlessLoop,
  kWrongResult,
  kNan,
  kUnwrittenTile,
  kGuardBand,     // writes just before C
  kSharedMemory,  // static and dynamic together exceed the SM's
  kEndlessCompile,
  kAllocation,  // a workspace larger than any card
  kFaults = kAllocation,
};

constexpr int kTile = 16;

constexpr Rule<Params> kRules[] = {
    {"no such fault", "FAULT", [](const Params& p) { return p.FAULT < 1 || p.FAULT > kFaults; }},
};

constexpr const char* reject(const Params& p) {
  if (p.ID < 0) return "ID must not be negative";
  return first_broken(kRules, p);
}

}  // namespace gemm_tune::faulty

#ifdef TUNED_PARAMS

#include "kernel_templates/device/epilogue.cuh"
#include "kernel_templates/device/gemm_args.cuh"
#include "kernel_templates/device/raster.cuh"

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

extern "C" __global__ void __launch_bounds__(kTile* kTile) gemm(const GemmArgs args) {
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

#else  // the host: cost and search space

#include "kernel_templates/family.h"

namespace gemm_tune::faulty {

inline Traits traits(const Params& p) {
  Traits t;
  t.threads = kTile * kTile;
  t.tile_m = t.tile_n = kTile;
  t.predicated = true;
  t.registers_estimate = 32;
  t.reads_global_in_inner_loop = true;
  if (p.FAULT == kSharedMemory) t.smem_bytes = 200 * 1024;
  if (p.FAULT == kAllocation) t.split_k = 1 << 30;
  return t;
}

inline KernelFamily family() {
  return make_family<Params>(
      "faulty", "kernels that do their worst, for tests",
      {{"FAULT", &Params::FAULT, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}, "what"},
       {"ID", &Params::ID, {0, 1, 2, 3, 4, 5, 6, 7}, "tells configs apart"}},
      kRules, &reject, &traits);
}

}  // namespace gemm_tune::faulty

#endif
