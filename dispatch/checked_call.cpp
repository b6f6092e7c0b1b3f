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

// Of rows or matrices, in elements: no GPU has addresses for more, and bytes are counted in 64
// bits.
constexpr std::int64_t kMostDistance = std::int64_t{1} << 47;

[[noreturn, gnu::cold]] void refuse_distance(const char* name, std::int64_t distance) {
  throw UsageError(std::string(name) + " is " + std::to_string(distance) +
                   ": it must be at most 2^47, for no GPU has addresses beyond");
}

// A matrix as it is stored: so many rows (column-major: columns), each `length` long. edge: the
// name of the length.
struct Stored {
  std::int64_t lines, length;
  const char* edge;
};

Stored stored(std::int64_t rows, const char* rows_name, std::int64_t columns,
              const char* columns_name, bool by_rows) {
  if (by_rows) return {rows, columns, columns_name};
  return {columns, rows, rows_name};
}

// A matrix's leading dimension and stride: those of a packed one in place of 0.
void complete(const char* name, std::int64_t& ld, std::int64_t& stride, const Stored& matrix) {
  if (ld == 0) {
    ld = std::max<std::int64_t>(1, matrix.length);
    if (stride == 0) stride = matrix.lines * ld;
  }
  if (ld < 1 || ld < matrix.length) {
    throw UsageError(std::string(name) + " is " + std::to_string(ld) +
                     ": it must be at least 1 and " + matrix.edge + " = " +
                     std::to_string(matrix.length) + ", or 0 for a packed matrix");
  }
  if (ld > kMostDistance) refuse_distance(name, ld);
}

[[noreturn, gnu::cold]] void refuse_pointer(const char* name, const void* pointer, int bytes) {
  if (pointer == nullptr) throw UsageError(std::string(name) + " is NULL");
  throw UsageError(std::string(name) + " is not aligned to " + std::to_string(bytes) + " bytes");
}

// bytes: a power of two.
void check_pointer(const char* name, const void* pointer, int bytes, bool is_used) {
  const bool is_aligned =
      (reinterpret_cast<std::uintptr_t>(pointer) & static_cast<std::uintptr_t>(bytes - 1)) == 0;
  if ((pointer == nullptr && is_used) || !is_aligned) refuse_pointer(name, pointer, bytes);
}

void check_stride(const char* name, std::int64_t stride) {
  if (stride < 0) {
    throw UsageError(std::string(name) + " is " + std::to_string(stride) +
                     ": it must not be negative");
  }
  if (stride > kMostDistance) refuse_distance(name, stride);
}

// Of the epilogue.
void check_operands(const GemmCall& call, bool are_used) {
  call.problem.epilogue.for_each([&](const EpilogueFunctor& functor, int slot) {
    if (slot < 0) return;
    check_pointer(functor.name, call.operands[static_cast<std::size_t>(slot)],
                  bytes_of(is_f32(functor) ? kSumType : call.problem.signature.d), are_used);
  });
}

// Unless the matrices of D lie one after another, or beside one another within the same rows.
// Divisions, since the products could overflow.
bool d_overlaps(const GemmCall& call, const Stored& d) {
  if (call.stride_c < d.length) return true;
  const bool behind = d.lines == 1 || call.ldc <= (call.stride_c - d.length) / (d.lines - 1);
  const bool beside = (call.ldc - d.length) / call.stride_c >= call.problem.batch - 1;
  return !behind && !beside;
}

}  // namespace

void check(GemmCall& call, Order order, Addresses addresses) {
  const Problem& p = call.problem;
  check_size("M", p.M);
  check_size("N", p.N);
  check_size("K", p.K);
  check_size("batch", p.batch);
  const bool by_rows = order == Order::row_major;
  const Stored d = stored(p.M, "M", p.N, "N", by_rows);
  complete("lda", call.lda, call.stride_a,
           stored(p.M, "M", p.K, "K", by_rows != transposes_a(p.layout)));
  complete("ldb", call.ldb, call.stride_b,
           stored(p.K, "K", p.N, "N", by_rows != transposes_b(p.layout)));
  complete("ldc", call.ldc, call.stride_c, d);
  const bool writes_d = p.M > 0 && p.N > 0 && p.batch > 0;
  const bool needs_d = writes_d && addresses == Addresses::needed;
  const bool needs_ab = needs_d && p.K > 0 && call.alpha != 0;
  const bool is_strided = p.batch_kind == BatchKind::strided;
  const auto unit = [&](ElementType type) {
    return is_strided ? bytes_of(type) : static_cast<int>(sizeof(void*));
  };
  check_pointer("A", call.A, unit(p.signature.a), needs_ab);
  check_pointer("B", call.B, unit(p.signature.b), needs_ab);
  check_pointer("C", call.C, unit(p.signature.c), needs_d && call.beta != 0);
  if (!p.epilogue.is_none()) check_operands(call, needs_d);
  check_pointer("D", call.D, unit(p.signature.d), needs_d);
  if (!is_strided) {
    if (const auto why = why_impossible(p)) throw UsageError("call " + *why);
    return;
  }
  if (p.batch <= 1) return;
  check_stride("stride_a", call.stride_a);
  check_stride("stride_b", call.stride_b);
  check_stride("stride_c", call.stride_c);
  if (writes_d && d_overlaps(call, d)) {
    throw UsageError("stride_c is " + std::to_string(call.stride_c) +
                     ": the matrices of D overlap");
  }
}

bool changes_nothing(const GemmCall& call) {
  const Problem& p = call.problem;
  const bool adds_nothing = p.K == 0 || call.alpha == 0;
  return p.M == 0 || p.N == 0 || p.batch == 0 ||
         (call.C == call.D && call.beta == 1 && adds_nothing && p.epilogue.is_none());
}

void make_row_major(GemmCall& call, Order order) {
  if (order == Order::row_major) return;
  Problem& p = call.problem;
  p.layout = layout_of(transposes_b(p.layout), transposes_a(p.layout));
  std::swap(p.M, p.N);
  std::swap(p.signature.a, p.signature.b);
  std::swap(p.alignment.a, p.alignment.b);
  std::swap(call.A, call.B);
  std::swap(call.lda, call.ldb);
  std::swap(call.stride_a, call.stride_b);
  std::swap(call.kept_a, call.kept_b);
  if (p.epilogue.is_none()) return;
  call.operands = transposed(p.epilogue, call.operands);
  p.epilogue = p.epilogue.transposed();
}

GemmCall part_of(const GemmCall& call, std::int64_t first, std::int64_t count) {
  GemmCall part = call;
  part.problem.batch = count;
  if (first == 0) return part;
  const bool is_strided = call.problem.batch_kind == BatchKind::strided;
  const auto bytes = [&](std::int64_t stride, ElementType type) {
    const auto address_bytes = static_cast<std::int64_t>(sizeof(void*));
    return first * (is_strided ? stride * bytes_of(type) : address_bytes);
  };
  const auto behind = [](const void* at, std::int64_t bytes) -> const void* {
    return at == nullptr ? nullptr : static_cast<const char*>(at) + bytes;
  };
  const Signature& types = call.problem.signature;
  part.A = behind(call.A, bytes(call.stride_a, types.a));
  part.B = behind(call.B, bytes(call.stride_b, types.b));
  part.C = behind(call.C, bytes(call.stride_c, types.c));
  part.D = static_cast<char*>(call.D) + bytes(call.stride_c, types.d);
  call.problem.epilogue.for_each([&](const EpilogueFunctor& functor, int slot) {
    if (!lies_as_d(functor)) return;
    const void*& operand = part.operands[static_cast<std::size_t>(slot)];
    operand = behind(operand, bytes(call.stride_c, types.d));
  });
  return part;
}

}  // namespace gemm_tune
