// SPDX-License-Identifier: Apache-2.0
// One product: D = alpha * op(A) * op(B) + beta * C for each entry of a batch, row-major, and what
// an epilogue makes of it.
//
// Every part of the project describes a product by this struct. Only the C interface, cuBLAS and
// the kernel's argument (kernel_templates/launch_args.h) convert it. A call without addresses
// describes where the matrices would lie. C and D are the same matrix or do not overlap. Values; no
// thread rule.
#pragma once

#include <compare>
#include <cstdint>

#include "core/problem.h"

namespace gemm_tune {

// The operation on alpha * op(A) * op(B) + beta * C before the result is rounded and stored as D:
// add a bias, one element for each column; then ReLU.
enum class Epilogue { none, bias, bias_relu };

struct GemmCall {
  Problem problem;
  double alpha = 1, beta = 0;
  // The elements have the types of the problem's signature. C is not read if beta is 0; A and B are
  // not read if alpha is 0.
  const void* A = nullptr;
  const void* B = nullptr;
  const void* C = nullptr;
  void* D = nullptr;
  // Elements from one stored row to the next; ldc holds for C and D.
  std::int64_t lda = 0, ldb = 0, ldc = 0;
  // Elements from one matrix of a batch to the next, unused for a batch of 1; stride_c holds for C
  // and D.
  std::int64_t stride_a = 0, stride_b = 0, stride_c = 0;
  Epilogue epilogue = Epilogue::none;
  // N elements of D's type, apart from D, for every entry of a batch; not read without an epilogue.
  const void* bias = nullptr;

  friend auto operator<=>(const GemmCall&, const GemmCall&) = default;
};

// A call without addresses for packed matrices; those of a batch follow one another.
GemmCall packed_call(const Problem& problem);

// Where a kernel reads C: from D, or from a separate matrix. A kernel is compiled for one of the
// two.
enum class COperand { in_place, separate };

// in_place also if C is not read.
COperand c_operand(const GemmCall& call);

// The form of a call that a kernel is compiled for. Any config may be compiled for each.
struct CallForm {
  // NOLINTNEXTLINE(google-explicit-constructor)
  constexpr CallForm(COperand c = COperand::in_place, Epilogue epilogue = Epilogue::none)
      : c(c), epilogue(epilogue) {}

  COperand c;
  Epilogue epilogue;

  friend auto operator<=>(const CallForm&, const CallForm&) = default;
};

CallForm form_of(const GemmCall& call);

// The call with these addresses and with C in D: D = alpha * op(A) * op(B) + beta * D.
GemmCall in_place(GemmCall call, const void* A, const void* B, void* D);

// The alignment of each operand: of its leading dimension, its address and, in a batch, its stride.
Alignment alignment_of(const GemmCall& call);

// The call's problem with the alignment that its matrices have.
Problem problem_of(const GemmCall& call);

}  // namespace gemm_tune
