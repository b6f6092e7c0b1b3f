// SPDX-License-Identifier: Apache-2.0
// One product: D = epilogue(alpha * op(A) * op(B) + beta * C) for each entry of a batch, row-major.
//
// Every part of the project describes a product by this struct. Only the C interface, cuBLAS and
// launch plans (core/launch/launch_plan.h) convert it. A call without addresses describes where the
// matrices would lie. C and D are the same matrix or do not overlap. Values; no
// thread rule.
#pragma once

#include <algorithm>
#include <compare>
#include <cstdint>

#include "core/problem/problem.h"

namespace gemm_tune {

struct GemmCall {
  Problem problem;
  double alpha = 1, beta = 0;
  // The elements have the types of the problem's signature. C is not read if beta is 0; A and B are
  // not read if alpha is 0. Of a batch of pointers each is an array on the device, of as many
  // addresses as there are products.
  const void* A = nullptr;
  const void* B = nullptr;
  const void* C = nullptr;
  void* D = nullptr;
  // Elements from one stored row to the next; ldc holds for C and D.
  std::int64_t lda = 0, ldb = 0, ldc = 0;
  // Elements from one matrix of a batch to the next, unused for a batch of 1 and for pointers;
  // stride_c holds for C and D.
  std::int64_t stride_a = 0, stride_b = 0, stride_c = 0;
  // Of the epilogue's functors, in their order (Epilogue::for_each()), apart from D; aux is
  // written.
  EpilogueOperands operands{};
  // Copies of A and of B that an earlier launch has made, which kernels that would make such a copy
  // take instead (WorkspaceRegion::may_be_kept); null for none.
  const void* kept_a = nullptr;
  const void* kept_b = nullptr;

  friend auto operator<=>(const GemmCall&, const GemmCall&) = default;
};

// A call without addresses for packed matrices; those of a batch follow one another.
GemmCall packed_call(const Problem& problem);

// Where a kernel reads C: from D, or from a separate matrix. A kernel is compiled for one of the
// two.
enum class COperand { in_place, separate };

// in_place also if C is not read.
inline COperand c_operand(const GemmCall& call) {
  return call.C == call.D || call.beta == 0 ? COperand::in_place : COperand::separate;
}

// The form of a call that a kernel is compiled for. Any config may be compiled for each.
struct CallForm {
  // NOLINTNEXTLINE(google-explicit-constructor)
  constexpr CallForm(COperand c = COperand::in_place, Epilogue epilogue = {})
      : c(c), epilogue(epilogue) {}

  COperand c;
  Epilogue epilogue;

  friend auto operator<=>(const CallForm&, const CallForm&) = default;
};

inline CallForm form_of(const GemmCall& call) { return {c_operand(call), call.problem.epilogue}; }

// The call with these addresses and with C in D: D = alpha * op(A) * op(B) + beta * D.
GemmCall in_place(GemmCall call, const void* A, const void* B, void* D);

// The alignment of each operand: of its leading dimension, its address and, in a batch, its stride;
// of its leading dimension alone where its addresses are an array on the device.
// A separate C that is not read counts as aligned like D. D's is also that of the epilogue's
// operands that lie as D does.
inline Alignment alignment_of(const GemmCall& call) {
  const bool is_strided = call.problem.batch_kind == BatchKind::strided;
  const auto of = [&](const void* address, std::int64_t ld, std::int64_t stride, ElementType type) {
    const std::int64_t elements = is_strided && call.problem.batch > 1 ? ld | stride : ld;
    const auto bytes =
        static_cast<std::uint64_t>(elements) * static_cast<std::uint64_t>(bytes_of(type));
    return alignment_of(is_strided ? bytes | reinterpret_cast<std::uintptr_t>(address) : bytes);
  };
  const Signature& types = call.problem.signature;
  int d = of(call.D, call.ldc, call.stride_c, types.d);
  if (!call.problem.epilogue.is_none()) {
    call.problem.epilogue.for_each([&](const EpilogueFunctor& functor, int slot) {
      if (!lies_as_d(functor)) return;
      const void* const at = call.operands[static_cast<std::size_t>(slot)];
      d = std::min(d, alignment_of(reinterpret_cast<std::uintptr_t>(at)));
    });
  }
  const bool reads_c = c_operand(call) == COperand::separate;
  return {of(call.A, call.lda, call.stride_a, types.a),
          of(call.B, call.ldb, call.stride_b, types.b),
          reads_c ? of(call.C, call.ldc, call.stride_c, types.c) : d, d};
}

// The call's problem with the alignment that its matrices have.
Problem problem_of(const GemmCall& call);

}  // namespace gemm_tune
