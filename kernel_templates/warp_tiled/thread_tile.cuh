// SPDX-License-Identifier: Apache-2.0
// A thread's part of the CTA tile: where it lies, its operands of a k step, and its sums.
#pragma once

#include "kernel_templates/device/element/vec.cuh"
#include "kernel_templates/warp_tiled/config.cuh"

namespace gemm_tune::warp_tiled {

// A thread's place in the CTA: which warp tile, which part of it, and which k steps of a slice.
struct Place {
  int row, col;  // of the warp tile in the CTA tile
  int lane_m, lane_n;
  int k;  // the first of its steps

  explicit __device__ Place(int thread) {
    const int warp = thread / 32 % warps_mn(kP);
    row = warp / warps_n(kP) * kP.WM;
    col = warp % warps_n(kP) * kP.WN;
    lane_m = lane_row(kP, thread % 32);
    lane_n = lane_col(kP, thread % 32);
    k = kP.WARPS_K > 1 ? thread / threads_mn(kP) * steps(kP) : 0;
  }
};

// A thread's operands of one k step.
struct Fragments {
  float a[kP.TM], b[kP.TN];

  __device__ void load(const float* a_row, const float* b_row) {
    load_groups<kP.TM, lanes_m(kP)>(a, a_row);
    load_groups<kP.TN, lanes_n(kP)>(b, b_row);
  }

  template <int T, int LANES>
  static __device__ void load_groups(float (&fragment)[T], const float* row) {
#pragma unroll
    for (int i = 0; i < T; i += kGroup) {
      const Vec<kGroup> v = load_vec<kGroup>(row + i * LANES);
#pragma unroll
      for (int j = 0; j < kGroup; ++j) fragment[i + j] = v.x[j];
    }
  }
};

struct Sums {
  float x[kP.TM][kP.TN];

  // Back and forth along the rows: the column that a row ends with is still at hand for the next.
  __device__ void multiply(const Fragments& f) {
#pragma unroll
    for (int i = 0; i < kP.TM; ++i) {
#pragma unroll
      for (int n = 0; n < kP.TN; ++n) {
        const int j = i % 2 == 0 ? n : kP.TN - 1 - n;
        x[i][j] += f.a[i] * f.b[j];
      }
    }
  }
};

}  // namespace gemm_tune::warp_tiled
