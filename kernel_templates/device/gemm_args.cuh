// SPDX-License-Identifier: Apache-2.0
// The one argument of every GEMM kernel: D = alpha * op(A) * op(B) + beta * C, row-major, ld in
// elements. C and D are the same matrix or do not overlap.
//
// Read by NVRTC, the emulator and the host that launches; the layout is the same for all three.
#pragma once

namespace gemm_tune {

struct GemmArgs {
  int M, N, K;
  int piece_k;  // K elements of a piece where tiles are cut along K (device/tail.cuh)
  float alpha, beta;
  const float* A;  // [M, K], lda >= K; stored [K, M], lda >= M, in a kernel for transposed A
  const float* B;  // [K, N], ldb >= N; stored [N, K], ldb >= K, in a kernel for transposed B
  const float* C;  // [M, N], ldc >= N; not read where beta is 0
  float* D;        // as C, or C itself
  long long lda, ldb, ldc;
  // From one matrix of a batch to the next; the grid's z counts the batch.
  long long stride_a, stride_b, stride_c;
  // Null where the recipe needs none, else counters (core/launch_recipe.h), then partial sums.
  int* counters;
  float* partials;
};

// Beyond, NVRTC 13.0 takes up to 14 registers more for the same kernel.
static_assert(sizeof(GemmArgs) <= 128);

}  // namespace gemm_tune
