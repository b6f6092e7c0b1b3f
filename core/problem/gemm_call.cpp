// SPDX-License-Identifier: Apache-2.0
#include "core/problem/gemm_call.h"

namespace gemm_tune {

GemmCall packed_call(const Problem& problem) {
  GemmCall call;
  call.problem = problem;
  call.lda = row_length_a(problem);
  call.ldb = row_length_b(problem);
  call.ldc = problem.N;
  call.stride_a = rows_a(problem) * call.lda;
  call.stride_b = rows_b(problem) * call.ldb;
  call.stride_c = problem.M * call.ldc;
  return call;
}

GemmCall in_place(GemmCall call, const void* A, const void* B, void* D) {
  call.A = A;
  call.B = B;
  call.C = call.D = D;
  return call;
}

Problem problem_of(const GemmCall& call) {
  Problem problem = call.problem;
  problem.alignment = alignment_of(call);
  return problem;
}

}  // namespace gemm_tune
