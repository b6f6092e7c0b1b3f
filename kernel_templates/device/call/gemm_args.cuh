// SPDX-License-Identifier: Apache-2.0
// The one argument of every GEMM kernel: D = alpha * op(A) * op(B) + beta * C, row-major, ld in
// elements. C is D, or a matrix of its own that does not overlap D.
//
// A kernel takes the members that calls of its form need (device/call/call_form.cuh), which are the
// first bytes of what the host passes. Read by NVRTC, the emulator and the host that launches; the
// layout is the same for all three.
#pragma once

namespace gemm_tune {

// M, N, K: of the product. piece_k: K elements of a piece where tiles are cut along K
// (device/tile/tail.cuh). A: [M, K], lda >= K; stored [K, M], lda >= M, in a kernel for transposed
// A. B: [K, N], ldb >= N; stored [N, K], ldb >= K, in a kernel for transposed B. D: [M, N], ldc >=
// N. stride_a to stride_c: from one matrix of a batch to the next; the grid's z counts the batch.
// Of a batch of pointers A to D are arrays of addresses (device/call/pointer_batch.cuh). counters,
// partials: null where the recipe needs none, else counters (core/launch/launch_recipe.h), then
// partial sums. A macro and no base class, of which NVRTC 13.0 makes other machine code.
#define GT_GEMM_ARGS                      \
  int M, N, K, piece_k;                   \
  float alpha, beta;                      \
  const float* A;                         \
  const float* B;                         \
  float* D;                               \
  long long lda, ldb, ldc;                \
  long long stride_a, stride_b, stride_c; \
  int* counters;                          \
  float* partials;

struct InPlaceGemmArgs {
  GT_GEMM_ARGS
};

struct SeparateGemmArgs {
  GT_GEMM_ARGS
  const float* C;  // lies as D does; not read where beta is 0
};

// With an epilogue. operands: what its functors read and write beside the value
// (device/call/epilogue_chain.cuh), each where it begins.
template <int OPERANDS>
struct EpilogueGemmArgs {
  GT_GEMM_ARGS
  const float* C;
  const void* operands[OPERANDS];
};
template <>
struct EpilogueGemmArgs<0> {
  GT_GEMM_ARGS
  const float* C;
  static constexpr const void* const* operands = nullptr;
};

#undef GT_GEMM_ARGS

inline constexpr int kMostEpilogueOperands = 6;

// What the host passes, whatever the kernel takes.
using GemmArgs = EpilogueGemmArgs<kMostEpilogueOperands>;

// Beyond, NVRTC 13.0 takes up to 14 registers more for the same kernel.
static_assert(sizeof(EpilogueGemmArgs<1>) <= 128);

}  // namespace gemm_tune
