// SPDX-License-Identifier: Apache-2.0
// The arguments of a call's launches: those of a kernel, which are a call, how its grid cuts tiles,
// and scratch memory; and those of the launch before it that copies operands.
//
// One place for everybody who launches, so that nobody forgets a part. Pure; any thread.
#pragma once

#include "core/gemm_call.h"
#include "core/launch_recipe.h"
#include "kernel_templates/device/gemm_args.cuh"
#include "kernel_templates/device/repack.cuh"
#include "kernel_templates/device/share_reduce.cuh"

namespace gemm_tune {

// counters and partials: of a workspace with the workspace_bytes() of the problem that the grid is
// for; null where these are 0.
inline GemmArgs launch_args(const GemmCall& call, const Grid& grid, int* counters,
                            float* partials) {
  GemmArgs args{};
  args.M = static_cast<int>(call.problem.M);
  args.N = static_cast<int>(call.problem.N);
  args.K = static_cast<int>(call.problem.K);
  args.piece_k = static_cast<int>(grid.piece_k);
  args.alpha = static_cast<float>(call.alpha);
  args.beta = static_cast<float>(call.beta);
  args.A = static_cast<const float*>(call.A);
  args.B = static_cast<const float*>(call.B);
  args.D = static_cast<float*>(call.D);
  args.lda = call.lda;
  args.ldb = call.ldb;
  args.ldc = call.ldc;
  args.stride_a = call.stride_a;
  args.stride_b = call.stride_b;
  args.stride_c = call.stride_c;
  args.counters = counters;
  args.partials = partials;
  args.C = static_cast<const float*>(call.C);
  args.bias = call.bias;
  return args;
}

// The launch that makes these copies of the call's operands, at these addresses.
inline RepackArgs repack_args(const GemmCall& call, const RepackedOperands& copies, void* to_a,
                              void* to_b) {
  const auto matrix = [](const RepackedOperand& copy, const void* from, long long ld, void* to) {
    return RepackedMatrix{from, to, copy.from_rows, copy.from_length, ld, copy.rows, copy.ld};
  };
  return {matrix(copies.a, call.A, call.lda, to_a), matrix(copies.b, call.B, call.ldb, to_b),
          bytes_of(call.problem.signature.a)};
}

inline Grid repack_grid(const RepackArgs& args) {
  const long long chunks =
      repack_chunks(args.a, args.element_bytes) + repack_chunks(args.b, args.element_bytes);
  return {(chunks + kRepackThreads - 1) / kRepackThreads};
}

inline Grid reduce_grid(const LaunchRecipe& recipe, const LaunchProblem& problem, int sm_count) {
  return reduce_grid(recipe, problem, sm_count, kReduceThreads, kReduceSums);
}

// The call on the copies.
inline GemmCall on_copies(GemmCall call, const RepackedOperands& copies, const void* a,
                          const void* b) {
  call.problem.K = copies.k;
  if (copies.a.exists()) {
    call.A = a;
    call.lda = copies.a.ld;
  }
  if (copies.b.exists()) {
    call.B = b;
    call.ldb = copies.b.ld;
  }
  return call;
}

}  // namespace gemm_tune
