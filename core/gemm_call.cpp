// SPDX-License-Identifier: Apache-2.0
#include "core/gemm_call.h"

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

COperand c_operand(const GemmCall& call) {
  return call.C == call.D || call.beta == 0 ? COperand::in_place : COperand::separate;
}

CallForm form_of(const GemmCall& call) { return {c_operand(call), call.epilogue}; }

GemmCall in_place(GemmCall call, const void* A, const void* B, void* D) {
  call.A = A;
  call.B = B;
  call.C = call.D = D;
  return call;
}

Alignment alignment_of(const GemmCall& call) {
  const auto of = [&](const void* address, std::int64_t ld, std::int64_t stride, ElementType type) {
    const std::int64_t elements = call.problem.batch > 1 ? ld | stride : ld;
    const auto bytes =
        static_cast<std::uint64_t>(elements) * static_cast<std::uint64_t>(bytes_of(type));
    return alignment_of(bytes | reinterpret_cast<std::uintptr_t>(address));
  };
  const Signature& types = call.problem.signature;
  return {
      of(call.A, call.lda, call.stride_a, types.a), of(call.B, call.ldb, call.stride_b, types.b),
      of(call.C, call.ldc, call.stride_c, types.c), of(call.D, call.ldc, call.stride_c, types.d)};
}

Problem problem_of(const GemmCall& call) {
  Problem problem = call.problem;
  problem.alignment = alignment_of(call);
  return problem;
}

}  // namespace gemm_tune
