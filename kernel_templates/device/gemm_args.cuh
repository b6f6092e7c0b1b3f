// SPDX-License-Identifier: Apache-2.0
// The one argument of every GEMM kernel: D = alpha * op(A) * op(B) + beta * C, row-major, ld in
// elements. C is D, or a matrix of its own that does not overlap D.
//
// A kernel that is compiled with TUNED_IN_PLACE takes D for C and knows no other: a second address
// in the epilogue makes kernels up to 3.4 % slower (an H100, 4096x4096x4096:layout=nt). With
// TUNED_EPILOGUE (device/bias.cuh) it adds the bias, and takes its ReLU, before it stores D.
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
  float* D;        // [M, N], ldc >= N
  long long lda, ldb, ldc;
  // From one matrix of a batch to the next; the grid's z counts the batch.
  long long stride_a, stride_b, stride_c;
  // Null where the recipe needs none, else counters (core/launch_recipe.h), then partial sums.
  int* counters;
  float* partials;
#ifndef TUNED_IN_PLACE
  const float* C;  // lies as D does; not read where beta is 0
#endif
#ifdef TUNED_EPILOGUE
#ifdef TUNED_IN_PLACE
  const float* unread_c;  // so that the bias lies at one place
#endif
  const void* bias;  // [N], of D's element type: one for each column, in every matrix of a batch
#endif
#ifndef TUNED_PARAMS
  const void* bias;  // the host's struct has every member
#endif
};

// Beyond, NVRTC 13.0 takes up to 14 registers more for the same kernel.
static_assert(sizeof(GemmArgs) <= 128);

}  // namespace gemm_tune
