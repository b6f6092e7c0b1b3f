// SPDX-License-Identifier: Apache-2.0
#include "dispatch/sgemm_call.h"

#include <algorithm>
#include <string>

#include "core/error.h"

namespace gemm_tune {
namespace {

constexpr std::uintptr_t kFloatBytes = sizeof(float);

void check_size(const char* name, std::int64_t size) {
  if (size < 0 || size > kMaxEdge) {
    throw UsageError(std::string(name) + " is " + std::to_string(size) + ": it must be 0 to " +
                     std::to_string(kMaxEdge));
  }
}

void check_ld(const char* name, std::int64_t ld, const char* width_name, std::int64_t width) {
  if (ld < std::max<std::int64_t>(1, width)) {
    throw UsageError(std::string(name) + " is " + std::to_string(ld) +
                     ": it must be at least 1 and " + width_name + " = " + std::to_string(width));
  }
}

void check_pointer(const char* name, const float* pointer, bool is_used) {
  if (pointer == nullptr && is_used) throw UsageError(std::string(name) + " is NULL");
  if (reinterpret_cast<std::uintptr_t>(pointer) % kFloatBytes != 0) {
    throw UsageError(std::string(name) + " is not aligned to 4 bytes");
  }
}

void check_stride(const char* name, std::int64_t stride) {
  if (stride < 0) {
    throw UsageError(std::string(name) + " is " + std::to_string(stride) +
                     ": it must not be negative");
  }
}

// Rows of a row-major C, columns of a column-major one, each `length` long.
struct StoredC {
  std::int64_t rows, length;
};

StoredC stored_c(const SgemmCall& call) {
  if (call.order == Order::row_major) return {call.M, call.N};
  return {call.N, call.M};
}

// The matrices of C lie one after another, or beside one another within the same rows. Divisions,
// since the products could overflow.
bool c_overlaps(const SgemmCall& call) {
  const auto [rows, length] = stored_c(call);
  if (call.stride_c < length) return true;
  const bool behind = rows == 1 || call.ldc <= (call.stride_c - length) / (rows - 1);
  const bool beside = (call.ldc - length) / call.stride_c >= call.batch - 1;
  return !behind && !beside;
}

}  // namespace

void check(const SgemmCall& call) {
  check_size("M", call.M);
  check_size("N", call.N);
  check_size("K", call.K);
  check_size("batch", call.batch);
  // A stored row is a row of op(X) where neither order nor transposition turns it round.
  const bool by_columns = call.order == Order::column_major;
  if (call.transposed_a == by_columns) {
    check_ld("lda", call.lda, "K", call.K);
  } else {
    check_ld("lda", call.lda, "M", call.M);
  }
  if (call.transposed_b == by_columns) {
    check_ld("ldb", call.ldb, "N", call.N);
  } else {
    check_ld("ldb", call.ldb, "K", call.K);
  }
  check_ld("ldc", call.ldc, by_columns ? "M" : "N", stored_c(call).length);
  const bool writes_c = call.M > 0 && call.N > 0 && call.batch > 0;
  const bool reads_ab = writes_c && call.K > 0 && call.alpha != 0.0F;
  check_pointer("A", call.A, reads_ab);
  check_pointer("B", call.B, reads_ab);
  check_pointer("C", call.C, writes_c);
  if (call.batch <= 1) return;
  check_stride("stride_a", call.stride_a);
  check_stride("stride_b", call.stride_b);
  check_stride("stride_c", call.stride_c);
  if (writes_c && c_overlaps(call)) {
    throw UsageError("stride_c is " + std::to_string(call.stride_c) +
                     ": the matrices of C overlap");
  }
}

bool changes_nothing(const SgemmCall& call) {
  return call.M == 0 || call.N == 0 || call.batch == 0 ||
         (call.beta == 1.0F && (call.K == 0 || call.alpha == 0.0F));
}

SgemmCall in_row_major(const SgemmCall& call) {
  if (call.order == Order::row_major) return call;
  SgemmCall turned = call;
  turned.order = Order::row_major;
  turned.M = call.N;
  turned.N = call.M;
  turned.transposed_a = call.transposed_b;
  turned.transposed_b = call.transposed_a;
  turned.A = call.B;
  turned.lda = call.ldb;
  turned.stride_a = call.stride_b;
  turned.B = call.A;
  turned.ldb = call.lda;
  turned.stride_b = call.stride_a;
  return turned;
}

Problem problem_of(const SgemmCall& call) {
  Problem problem = packed_problem(call.M, call.N, call.K,
                                   layout_of(call.transposed_a, call.transposed_b), call.batch);
  const auto alignment = [&](const float* address, std::int64_t ld, std::int64_t stride) {
    const std::int64_t elements = call.batch > 1 ? ld | stride : ld;
    return alignment_of(static_cast<std::uint64_t>(elements) * kFloatBytes |
                        reinterpret_cast<std::uintptr_t>(address));
  };
  problem.alignment.a = alignment(call.A, call.lda, call.stride_a);
  problem.alignment.b = alignment(call.B, call.ldb, call.stride_b);
  problem.alignment.c = problem.alignment.d = alignment(call.C, call.ldc, call.stride_c);
  return problem;
}

GemmArgs args_of(const SgemmCall& call) {
  GemmArgs args{};
  args.M = static_cast<int>(call.M);
  args.N = static_cast<int>(call.N);
  args.K = static_cast<int>(call.K);
  args.alpha = call.alpha;
  args.beta = call.beta;
  args.A = call.A;
  args.B = call.B;
  args.C = call.C;
  args.lda = call.lda;
  args.ldb = call.ldb;
  args.ldc = call.ldc;
  args.stride_a = call.stride_a;
  args.stride_b = call.stride_b;
  args.stride_c = call.stride_c;
  return args;
}

SgemmCall part_of(const SgemmCall& call, std::int64_t first, std::int64_t count) {
  SgemmCall part = call;
  if (first > 0) {
    if (part.A != nullptr) part.A += first * call.stride_a;
    if (part.B != nullptr) part.B += first * call.stride_b;
    part.C += first * call.stride_c;
  }
  part.batch = count;
  return part;
}

}  // namespace gemm_tune
