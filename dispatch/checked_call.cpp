// SPDX-License-Identifier: Apache-2.0
#include "dispatch/checked_call.h"

#include <algorithm>
#include <string>
#include <utility>

#include "core/error.h"

namespace gemm_tune {
namespace {

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

void check_pointer(const char* name, const void* pointer, ElementType type, bool is_used) {
  if (pointer == nullptr && is_used) throw UsageError(std::string(name) + " is NULL");
  if (reinterpret_cast<std::uintptr_t>(pointer) % static_cast<unsigned>(bytes_of(type)) != 0) {
    throw UsageError(std::string(name) + " is not aligned to " + std::to_string(bytes_of(type)) +
                     " bytes");
  }
}

void check_stride(const char* name, std::int64_t stride) {
  if (stride < 0) {
    throw UsageError(std::string(name) + " is " + std::to_string(stride) +
                     ": it must not be negative");
  }
}

// Rows of a row-major D, columns of a column-major one, each `length` long.
struct StoredD {
  std::int64_t rows, length;
};

StoredD stored_d(const Problem& problem, Order order) {
  if (order == Order::row_major) return {problem.M, problem.N};
  return {problem.N, problem.M};
}

// Unless the matrices of D lie one after another, or beside one another within the same rows.
// Divisions, since the products could overflow.
bool d_overlaps(const GemmCall& call, const StoredD& d) {
  if (call.stride_c < d.length) return true;
  const bool behind = d.rows == 1 || call.ldc <= (call.stride_c - d.length) / (d.rows - 1);
  const bool beside = (call.ldc - d.length) / call.stride_c >= call.problem.batch - 1;
  return !behind && !beside;
}

}  // namespace

void check(const GemmCall& call, Order order, const char* name_of_d) {
  const Problem& p = call.problem;
  check_size("M", p.M);
  check_size("N", p.N);
  check_size("K", p.K);
  check_size("batch", p.batch);
  // A stored row is a row of op(X) where neither order nor transposition turns it round.
  const bool by_columns = order == Order::column_major;
  if (transposes_a(p.layout) == by_columns) {
    check_ld("lda", call.lda, "K", p.K);
  } else {
    check_ld("lda", call.lda, "M", p.M);
  }
  if (transposes_b(p.layout) == by_columns) {
    check_ld("ldb", call.ldb, "N", p.N);
  } else {
    check_ld("ldb", call.ldb, "K", p.K);
  }
  const StoredD d = stored_d(p, order);
  check_ld("ldc", call.ldc, by_columns ? "M" : "N", d.length);
  const bool writes_d = p.M > 0 && p.N > 0 && p.batch > 0;
  const bool reads_ab = writes_d && p.K > 0 && call.alpha != 0;
  check_pointer("A", call.A, p.signature.a, reads_ab);
  check_pointer("B", call.B, p.signature.b, reads_ab);
  check_pointer("C", call.C, p.signature.c, writes_d && call.beta != 0);
  if (call.epilogue != Epilogue::none) {
    check_pointer("bias", call.bias, p.signature.d, writes_d);
  }
  check_pointer(name_of_d, call.D, p.signature.d, writes_d);
  if (p.batch <= 1) return;
  check_stride("stride_a", call.stride_a);
  check_stride("stride_b", call.stride_b);
  check_stride("stride_c", call.stride_c);
  if (writes_d && d_overlaps(call, d)) {
    throw UsageError("stride_c is " + std::to_string(call.stride_c) + ": the matrices of " +
                     name_of_d + " overlap");
  }
}

bool changes_nothing(const GemmCall& call) {
  const Problem& p = call.problem;
  const bool adds_nothing = p.K == 0 || call.alpha == 0;
  return p.M == 0 || p.N == 0 || p.batch == 0 ||
         (call.C == call.D && call.beta == 1 && adds_nothing && call.epilogue == Epilogue::none);
}

GemmCall in_row_major(const GemmCall& call, Order order) {
  if (order == Order::row_major) return call;
  GemmCall turned = call;
  Problem& p = turned.problem;
  p.layout = layout_of(transposes_b(p.layout), transposes_a(p.layout));
  std::swap(p.M, p.N);
  std::swap(p.signature.a, p.signature.b);
  std::swap(p.alignment.a, p.alignment.b);
  std::swap(turned.A, turned.B);
  std::swap(turned.lda, turned.ldb);
  std::swap(turned.stride_a, turned.stride_b);
  return turned;
}

GemmCall part_of(const GemmCall& call, std::int64_t first, std::int64_t count) {
  GemmCall part = call;
  part.problem.batch = count;
  if (first == 0) return part;
  const auto bytes = [&](std::int64_t stride, ElementType type) {
    return first * stride * bytes_of(type);
  };
  const auto behind = [](const void* at, std::int64_t bytes) -> const void* {
    return at == nullptr ? nullptr : static_cast<const char*>(at) + bytes;
  };
  const Signature& types = call.problem.signature;
  part.A = behind(call.A, bytes(call.stride_a, types.a));
  part.B = behind(call.B, bytes(call.stride_b, types.b));
  part.C = behind(call.C, bytes(call.stride_c, types.c));
  part.D = static_cast<char*>(call.D) + bytes(call.stride_c, types.d);
  return part;
}

}  // namespace gemm_tune
