// SPDX-License-Identifier: Apache-2.0
#include "python/binding/problem_text.h"

#include <algorithm>
#include <cstdint>

#include "core/error.h"
#include "dispatch/c_values.h"
#include "kernel_templates/registry/registry.h"

namespace gemm_tune {
namespace {

// The call with arrays of addresses and with leading dimensions of the problem's alignment.
gt_gemm_call of_pointers(const Problem& problem, gt_gemm_call call) {
  if (problem.batch_kind == BatchKind::groups) {
    throw UsageError("'" + to_string(problem) + "': " + *why_unserved(problem));
  }
  call.batch_kind = GT_POINTERS;
  const auto align = [](std::int64_t& ld, int bytes, ElementType type) {
    if (bytes < kWidestAccessBytes) ld += bytes / bytes_of(type);
  };
  align(call.lda, problem.alignment.a, problem.signature.a);
  align(call.ldb, problem.alignment.b, problem.signature.b);
  align(call.ldc, problem.alignment.d, problem.signature.d);
  return call;
}

}  // namespace

std::string problem_text(const gt_gemm_call& call) {
  return to_string(row_major_call(call, Addresses::optional).problem);
}

gt_gemm_call call_of(const std::string& problem_text) {
  const Problem problem = parse_problem(problem_text);
  const Signature& types = problem.signature;
  // Rows as far apart as the widest access wants them: an operand's alignment is its address's.
  const auto padded = [](std::int64_t length, ElementType type) {
    const std::int64_t unit = kWidestAccessBytes / bytes_of(type);
    return std::max<std::int64_t>((length + unit - 1) / unit, 1) * unit;
  };
  const auto at = [](int bytes) { return reinterpret_cast<void*>(std::intptr_t{bytes}); };
  gt_gemm_call call = GT_GEMM_CALL_INIT;
  call.M = problem.M;
  call.N = problem.N;
  call.K = problem.K;
  call.batch = problem.batch;
  call.trans_a = transposes_a(problem.layout) ? GT_TRANSPOSE : GT_NO_TRANSPOSE;
  call.trans_b = transposes_b(problem.layout) ? GT_TRANSPOSE : GT_NO_TRANSPOSE;
  call.type_a = c_type_of(types.a);
  call.type_b = c_type_of(types.b);
  call.type_c = c_type_of(types.c);
  call.type_d = c_type_of(types.d);
  call.accuracy = c_accuracy_of(types.accuracy);
  call.epilogue = problem.epilogue.bits();
  call.lda = padded(row_length_a(problem), types.a);
  call.ldb = padded(row_length_b(problem), types.b);
  call.ldc = padded(problem.N, types.d);
  if (problem.batch_kind != BatchKind::strided) return of_pointers(problem, call);
  call.stride_a = rows_a(problem) * call.lda;
  call.stride_b = rows_b(problem) * call.ldb;
  call.stride_c = problem.M * call.ldc;
  const Alignment& aligned = problem.alignment;
  call.A = at(aligned.a);
  call.B = at(aligned.b);
  call.D = at(aligned.d);
  if (aligned.c != aligned.d) {  // a C that is read, apart from D
    call.C = at(aligned.c);
    call.beta = 1;
  }
  return call;
}

}  // namespace gemm_tune
