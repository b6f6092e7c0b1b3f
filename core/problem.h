// SPDX-License-Identifier: Apache-2.0
// A GEMM problem: shape, types, layout, alignment and batch; with the device it is the database
// key.
//
// C = alpha * op(A) * op(B) + beta * C with op(A) [M,K], op(B) [K,N], C [M,N], stored row-major.
// alpha and beta are arguments of a call, not part of the problem. Values; no thread rule.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/launch_arithmetic.h"

namespace gemm_tune {

enum class DataType { f32 };

constexpr bool transposes_a(Layout layout) { return layout == Layout::tn || layout == Layout::tt; }
constexpr bool transposes_b(Layout layout) { return layout == Layout::nt || layout == Layout::tt; }
constexpr Layout layout_of(bool transposed_a, bool transposed_b) {
  if (transposed_a) return transposed_b ? Layout::tt : Layout::tn;
  return transposed_b ? Layout::nt : Layout::nn;
}

// "nn", "nt", "tn", "tt".
std::string_view to_string(Layout layout);

// The inverse of to_string. Throws UsageError naming the text.
Layout parse_layout(std::string_view text);

struct Problem {
  std::int64_t M = 0, N = 0, K = 0;  // M, N >= 1, K >= 0, each at most kMaxEdge
  DataType type = DataType::f32;
  Layout layout = Layout::nn;
  // Elements (1, 2 or 4) that divide every leading dimension, base address and batch stride.
  int alignment = 1;
  std::int64_t batch = 1;  // independent products of one call, their matrices equally far apart

  friend bool operator==(const Problem&, const Problem&) = default;
};

// An fp32 problem whose matrices are packed: each leading dimension is the length of a stored row,
// each batch stride the size of a matrix.
Problem packed_problem(std::int64_t M, std::int64_t N, std::int64_t K, Layout layout = Layout::nn,
                       std::int64_t batch = 1);

// The lengths of a stored row of A and of B, the least that lda and ldb may be.
std::int64_t row_length_a(const Problem& problem);
std::int64_t row_length_b(const Problem& problem);

// Floating-point operations of one call: 2 M N K batch.
double flops(const Problem& problem);

// "1024x512x256"; what differs from packed_problem(M, N, K) follows, as in
// "1024x512x256:layout=nt:align=1:batch=8".
std::string to_string(const Problem& problem);

// The inverse of to_string. Throws UsageError naming the text.
Problem parse_problem(std::string_view text);

}  // namespace gemm_tune
