// SPDX-License-Identifier: Apache-2.0
// A kernel's argument: a call, how its grid cuts tiles, and scratch memory.
//
// One place for everybody who launches, so that nobody forgets a part. Pure; any thread.
#pragma once

#include "core/gemm_call.h"
#include "core/launch_recipe.h"
#include "kernel_templates/device/gemm_args.cuh"

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

}  // namespace gemm_tune
