// SPDX-License-Identifier: Apache-2.0
// The checks of one call of the library, and its row-major form.
//
// Pure; any thread.
#pragma once

#include <cstdint>

#include "core/problem/gemm_call.h"

namespace gemm_tune {

// How matrices are stored: a row or a column after another.
enum class Order { row_major, column_major };

// Whether operands that are read need an address: those of a call that is launched do.
enum class Addresses { needed, optional };

// A leading dimension of 0 becomes the length of a stored row (column-major: column), and a stride
// of 0 beside it the size of a matrix. Throws UsageError naming the first argument that is out of
// range, null or not aligned to its elements (an array of addresses to these): a leading dimension
// below the length of a stored row, a negative stride, matrices of D that overlap. C may be null
// where it is not read.
void check(GemmCall& call, Order order, Addresses addresses);

// Whether D stays as it is by BLAS's rules: M, N or batch is 0, or C is D, beta is 1, K or alpha is
// 0 and there is no epilogue.
bool changes_nothing(const GemmCall& call);

// Puts the call in row-major terms. A column-major matrix reads as its transpose there, and C^T =
// op(B)^T * op(A)^T: operands, M and N change places, and so do rows and columns in the epilogue.
void make_row_major(GemmCall& call, Order order);

// The `count` entries of the batch from `first` on. Precondition: they are in the batch.
GemmCall part_of(const GemmCall& call, std::int64_t first, std::int64_t count);

}  // namespace gemm_tune
