// SPDX-License-Identifier: Apache-2.0
// The checks of one call of gt_gemm or a gt_sgemm function, and its row-major form.
//
// Pure; any thread.
#pragma once

#include <cstdint>

#include "core/gemm_call.h"

namespace gemm_tune {

// How matrices are stored: a row or a column after another.
enum class Order { row_major, column_major };

// Throws UsageError naming the first argument that is out of range, null or not aligned to its
// elements: a leading dimension below the length of a stored row (column-major: column), a negative
// stride, matrices of D that overlap. C and the bias may be null where they are not read.
// name_of_d: D's in the function that was called.
void check(const GemmCall& call, Order order, const char* name_of_d);

// Whether D stays as it is by BLAS's rules: M, N or batch is 0, or C is D, beta is 1, K or alpha is
// 0 and there is no epilogue.
bool changes_nothing(const GemmCall& call);

// The same call in row-major terms. A column-major matrix reads as its transpose there, and C^T =
// op(B)^T * op(A)^T: operands, M and N change places. A bias for each row is then one for each
// column.
GemmCall in_row_major(const GemmCall& call, Order order);

// The `count` entries of the batch from `first` on. Precondition: they are in the batch.
GemmCall part_of(const GemmCall& call, std::int64_t first, std::int64_t count);

}  // namespace gemm_tune
