// SPDX-License-Identifier: Apache-2.0
// The arguments of one gt_sgemm or gt_sgemm_strided_batched call: what is wrong with them, and
// which problem they are.
//
// Pure; any thread.
#pragma once

#include <cstdint>

#include "core/problem.h"
#include "kernel_templates/device/gemm_args.cuh"

namespace gemm_tune {

// How matrices are stored: a row or a column after another.
enum class Order { row_major, column_major };

// C = alpha * op(A) * op(B) + beta * C for each entry of a batch, leading dimensions and strides in
// elements.
struct SgemmCall {
  Order order = Order::row_major;
  bool transposed_a = false, transposed_b = false;
  std::int64_t M = 0, N = 0, K = 0;
  float alpha = 1;
  const float* A = nullptr;
  std::int64_t lda = 0, stride_a = 0;  // strides count for a batch above 1
  const float* B = nullptr;
  std::int64_t ldb = 0, stride_b = 0;
  float beta = 0;
  float* C = nullptr;
  std::int64_t ldc = 0, stride_c = 0;
  std::int64_t batch = 1;
};

// Throws UsageError naming the first argument that is out of range, null or not aligned to floats:
// a leading dimension below the length of a stored row (column-major: column), a negative stride,
// matrices of C that overlap.
void check(const SgemmCall& call);

// Whether C stays as it is by BLAS's rules: M, N or batch is 0, or beta is 1 and K or alpha is 0.
bool changes_nothing(const SgemmCall& call);

// The same call in row-major terms. A column-major matrix reads as its transpose there, and C^T =
// op(B)^T * op(A)^T: operands, M and N change places. Precondition: checked.
SgemmCall in_row_major(const SgemmCall& call);

// With the alignment class of the call's leading dimensions, strides and addresses. Precondition:
// row-major, checked, M, N and batch not 0.
Problem problem_of(const SgemmCall& call);

// The kernel's, without a workspace. Precondition: row-major.
GemmArgs args_of(const SgemmCall& call);

// The `count` entries of the batch from `first` on. Precondition: they are in the batch.
SgemmCall part_of(const SgemmCall& call, std::int64_t first, std::int64_t count);

}  // namespace gemm_tune
