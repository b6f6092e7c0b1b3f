// SPDX-License-Identifier: Apache-2.0
// Adds up what groups of warps computed of different k steps.
#pragma once

#include "kernel_templates/warp_tiled/thread_tile.cuh"

namespace gemm_tune::warp_tiled {

// What a thread has of C once the groups of warps have added up: the rows of its thread tile that
// are its group's, all of them if there is one group only.
constexpr int kOwnRows = kP.TM / kP.WARPS_K;
struct OwnSums {
  float x[kOwnRows][kP.TN];
};

// Adds up over the groups of warps, in order from one's own on. buffer: exchange_floats() of them.
// Element by element, as in ShareSum.
__device__ inline OwnSums add_warps_k(const Sums& sums, float* buffer) {
  constexpr int kOthers = kP.WARPS_K - 1;
  const int thread = static_cast<int>(threadIdx.x) % threads_mn(kP);
  const int group = static_cast<int>(threadIdx.x) / threads_mn(kP);
  // Where the rows of one group lie that another brings, the `turn`-th after it.
  const auto place = [&](int owner, int turn) {
    return buffer + (owner * kOthers + turn - 1) * (kOwnRows * kP.TN * threads_mn(kP)) + thread;
  };
  OwnSums own;
#pragma unroll
  for (int g = 0; g < kP.WARPS_K; ++g) {
    if (group != g) continue;
#pragma unroll
    for (int turn = 1; turn <= kOthers; ++turn) {
      const int owner = (g + kP.WARPS_K - turn) % kP.WARPS_K;
      float* const to = place(owner, turn);
#pragma unroll
      for (int i = 0; i < kOwnRows * kP.TN; ++i) {
        to[i * threads_mn(kP)] = sums.x[owner * kOwnRows + i / kP.TN][i % kP.TN];
      }
    }
#pragma unroll
    for (int i = 0; i < kOwnRows * kP.TN; ++i) {
      own.x[i / kP.TN][i % kP.TN] = sums.x[g * kOwnRows + i / kP.TN][i % kP.TN];
    }
  }
  if constexpr (kOthers > 0) __syncthreads();
#pragma unroll
  for (int turn = 1; turn <= kOthers; ++turn) {
    const float* const from = place(group, turn);
#pragma unroll
    for (int i = 0; i < kOwnRows * kP.TN; ++i) {
      own.x[i / kP.TN][i % kP.TN] += from[i * threads_mn(kP)];
    }
  }
  return own;
}

__device__ inline int first_own_row(int thread) { return thread / threads_mn(kP) * kOwnRows; }

}  // namespace gemm_tune::warp_tiled
