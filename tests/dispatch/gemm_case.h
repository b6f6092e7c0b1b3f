// SPDX-License-Identifier: Apache-2.0
// Calls of the library for the tests on a GPU: where the elements of each matrix lie, and values
// whose products and sums are exact.
#pragma once

#include <gemm_tune/gemm_tune.h>

#include <algorithm>
#include <cstdint>
#include <vector>

namespace gemm_tune {

struct Case {
  std::int64_t M, N, K;
  std::int64_t extra_ld = 0;  // of each matrix
  std::size_t offset = 0;     // of each base address, in elements
  gt_order order = GT_ROW_MAJOR;
  gt_transpose trans_a = GT_NO_TRANSPOSE, trans_b = GT_NO_TRANSPOSE;
  std::int64_t batch = 1;
  std::int64_t gap = 0;  // between the matrices of a batch
  gt_batch_kind batch_kind = GT_STRIDED;
};

// A matrix, or a batch of them, of rows x cols as BLAS's op() leaves it.
struct Operand {
  std::int64_t rows, cols, ld, stride;
  bool by_rows;  // stored row after row, else column after column
  std::size_t offset;

  Operand(const Case& c, std::int64_t rows, std::int64_t cols, gt_transpose trans)
      : rows(rows),
        cols(cols),
        by_rows((c.order == GT_ROW_MAJOR) == (trans == GT_NO_TRANSPOSE)),
        offset(c.offset) {
    ld = std::max<std::int64_t>(by_rows ? cols : rows, 1) + c.extra_ld;
    stride = (by_rows ? rows : cols) * ld + c.gap;
  }
  std::size_t size(std::int64_t batch) const {
    return static_cast<std::size_t>(batch * stride) + offset;
  }
  std::size_t at(std::int64_t entry, std::int64_t row, std::int64_t col) const {
    const std::int64_t inside = by_rows ? row * ld + col : col * ld + row;
    return static_cast<std::size_t>(entry * stride + inside) + offset;
  }
};

// The call's addresses are not set.
inline gt_gemm_call call_of(const Case& c, float alpha, float beta) {
  gt_gemm_call call = GT_GEMM_CALL_INIT;
  call.order = c.order;
  call.trans_a = c.trans_a;
  call.trans_b = c.trans_b;
  call.M = c.M;
  call.N = c.N;
  call.K = c.K;
  call.batch = c.batch;
  call.batch_kind = c.batch_kind;
  call.alpha = alpha;
  call.beta = beta;
  const Operand A(c, c.M, c.K, c.trans_a), B(c, c.K, c.N, c.trans_b),
      D(c, c.M, c.N, GT_NO_TRANSPOSE);
  call.lda = A.ld;
  call.ldb = B.ld;
  call.ldc = D.ld;
  call.stride_a = A.stride;
  call.stride_b = B.stride;
  call.stride_c = D.stride;
  return call;
}

// From -8 to 7.
inline std::vector<float> integers(std::size_t count, unsigned seed) {
  std::vector<float> values(count);
  for (float& value : values) {
    seed = seed * 1664525U + 1013904223U;
    value = static_cast<float>(static_cast<int>(seed >> 28) - 8);
  }
  return values;
}

}  // namespace gemm_tune
