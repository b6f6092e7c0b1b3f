// SPDX-License-Identifier: Apache-2.0
// One product: D = alpha * op(A) * op(B) + beta * C for each entry of a batch, row-major.
//
// The one struct for it, from the interface of the library to the kernels: the C interface, cuBLAS
// and the kernel's argument (kernel_templates/launch_args.h) are the only conversions. A call
// without addresses says where matrices would lie. C and D are the same matrix or do not overlap.
// Values; no thread rule.
#pragma once

#include <compare>
#include <cstdint>

#include "core/problem.h"

namespace gemm_tune {

struct GemmCall {
  Problem problem;
  double alpha = 1, beta = 0;
  // Of elements of the problem's signature. C is not read where beta is 0, A and B not where alpha
  // is.
  const void* A = nullptr;
  const void* B = nullptr;
  const void* C = nullptr;
  void* D = nullptr;
  // Elements from one stored row to the next; C and D lie alike.
  std::int64_t lda = 0, ldb = 0, ldc = 0;
  // Elements from one matrix of a batch to the next; they count for a batch above 1.
  std::int64_t stride_a = 0, stride_b = 0, stride_c = 0;

  friend auto operator<=>(const GemmCall&, const GemmCall&) = default;
};

// Without addresses: packed matrices, those of a batch one after another.
GemmCall packed_call(const Problem& problem);

// Where a kernel finds C: in D, or in a matrix of its own. A kernel is compiled for one of both.
enum class COperand { in_place, separate };

// in_place also where C is not read.
COperand c_operand(const GemmCall& call);

// The call of these addresses whose C is D: D = alpha * op(A) * op(B) + beta * D.
GemmCall in_place(GemmCall call, const void* A, const void* B, void* D);

// Of the call's leading dimensions, addresses and, for a batch, strides.
Alignment alignment_of(const GemmCall& call);

// The call's problem with the alignment that its matrices have.
Problem problem_of(const GemmCall& call);

}  // namespace gemm_tune
