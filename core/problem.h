// A GEMM problem: shape, types, layout, alignment and batch; with the device it is the database
// key.
//
// C = alpha * op(A) * op(B) + beta * C with op(A) [M,K], op(B) [K,N], C [M,N], stored row-major.
// alpha and beta are arguments of a call, not part of the problem. Values; no thread rule.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace gemm_tune {

enum class DataType { f32 };

// Which operands are transposed, in BLAS order: N = as stored, T = transposed.
enum class Layout { nn };

// The largest matrix edge: kernels count rows and columns in 32-bit integers, rounded up to a tile.
inline constexpr std::int64_t kMaxEdge = 2'000'000'000;

struct Problem {
  std::int64_t M = 0, N = 0, K = 0;  // M, N >= 1, K >= 0, each at most kMaxEdge
  DataType type = DataType::f32;
  Layout layout = Layout::nn;
  // Elements (1, 2 or 4) that divide every leading dimension and base address of A, B and C.
  int alignment = 1;
  std::int64_t batch = 1;

  friend bool operator==(const Problem&, const Problem&) = default;
};

// The alignment class of leading dimensions in elements, when the base addresses are 16-byte
// aligned.
int alignment_class(std::int64_t lda, std::int64_t ldb, std::int64_t ldc);

// An fp32 NN problem whose matrices are packed: lda = K, ldb = N, ldc = N.
Problem packed_problem(std::int64_t M, std::int64_t N, std::int64_t K);

// Floating-point operations of one call: 2 M N K batch.
double flops(const Problem& problem);

// "1024x512x256"; what differs from packed_problem(M, N, K) follows, as in "1024x512x256:align=1".
std::string to_string(const Problem& problem);

// The inverse of to_string. Throws UsageError naming the text.
Problem parse_problem(std::string_view text);

}  // namespace gemm_tune
