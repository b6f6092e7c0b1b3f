// SPDX-License-Identifier: Apache-2.0
// The part of a problem that a launch and a look-up depend on. The exported header contains the
// lines between the braces below unchanged (core/launch/launch_arithmetic.h): C++17, and no name
// from elsewhere.
#pragma once

#include "core/types/accuracy_class.h"
#include "core/types/element_type.h"

namespace gemm_tune {

// Which operands are stored transposed, A's letter first: N as op(X) = X, T as op(X) = X^T. A
// transposed A is stored [K,M], a transposed B [N,K].
enum class Layout { nn, nt, tn, tt };

// The largest matrix edge: kernels count rows and columns in 32-bit integers, rounded up to a tile.
inline constexpr long long kMaxEdge = 2000000000;

// How the matrices of a batch lie. strided: those of each operand equally far apart. pointers:
// where an operand's address would be is that of an array on the device, of the addresses of its
// matrices. groups: as pointers, but each product has sizes of its own, of which M, N and K are the
// largest.
enum class BatchKind { strided, pointers, groups };

// The part of a problem that a launch depends on.
struct LaunchProblem {
  long long M, N, K;
  int alignment = 1;  // elements (1, 2, 4 or 8) that divide leading dimensions, addresses, strides;
                      // of pointers on the device, which nobody knows, leading dimensions only
  Layout layout = Layout::nn;
  long long batch = 1;  // products of one launch
  ElementType type_a{}, type_b{};
  ElementType type_cd{};  // of C and D
  // The alignments of A, of B, and of C and D, none below `alignment`; 0 where it is all that is
  // known of an operand. Kernels with wider accesses to some operands serve only where these are
  // known: aligned_by().
  int alignment_a = 0, alignment_b = 0, alignment_cd = 0;
  BatchKind batch_kind = BatchKind::strided;
  Accuracy accuracy = accuracy_of(type_a, type_b);  // the class that is asked for
};

// The alignment class of leading dimensions, for base addresses that are multiples of 16 bytes.
constexpr int alignment_class(long long lda, long long ldb, long long ldc) {
  const long long bits = lda | ldb | ldc;
  return bits % 4 == 0 ? 4 : bits % 2 == 0 ? 2 : 1;
}

// The same for these element types of A, of B, and of C and D. No access has more elements than 16
// bytes hold of the wider one of A and B; where a row begins at a multiple of 16 bytes, it does not
// limit the class.
constexpr int alignment_class(long long lda, long long ldb, long long ldc, ElementType type_a,
                              ElementType type_b, ElementType type_cd) {
  const int bytes_a = bytes_of(type_a), bytes_b = bytes_of(type_b);
  const int most = 16 / (bytes_a > bytes_b ? bytes_a : bytes_b);
  const auto limited = [](int elements, long long ld, int bytes) {
    while (ld * bytes % 16 != 0 && ld % elements != 0) elements /= 2;
    return elements;
  };
  return limited(limited(limited(most, lda, bytes_a), ldb, bytes_b), ldc, bytes_of(type_cd));
}

// The problem with the alignments that these leading dimensions have, for base addresses, and
// strides of a batch, that are multiples of 16 bytes.
constexpr LaunchProblem aligned_by(LaunchProblem problem, long long lda, long long ldb,
                                   long long ldc) {
  const auto of = [&](long long a, long long b, long long c) {
    return alignment_class(a, b, c, problem.type_a, problem.type_b, problem.type_cd);
  };
  problem.alignment = of(lda, ldb, ldc);
  problem.alignment_a = of(lda, 0, 0);
  problem.alignment_b = of(0, ldb, 0);
  problem.alignment_cd = of(0, 0, ldc);
  return problem;
}

// The larger over the smaller; sizes count as at least 1.
constexpr double ratio(long long a, long long b) {
  const double x = static_cast<double>(a > 1 ? a : 1);
  const double y = static_cast<double>(b > 1 ? b : 1);
  return x > y ? x / y : y / x;
}

// The distance of a tuned problem from another one: the product of ratio() over M, N, K and batch.
// 1 means the same shape.
constexpr double shape_distance(const LaunchProblem& a, const LaunchProblem& b) {
  return ratio(a.M, b.M) * ratio(a.N, b.N) * ratio(a.K, b.K) * ratio(a.batch, b.batch);
}

// How far a tuned problem is the asked one.
enum class Sameness {
  none,
  by_class,  // the shape and the alignment class, but other operands are the least aligned ones
  full,
};

constexpr Sameness sameness(const LaunchProblem& tuned, const LaunchProblem& asked) {
  const bool is_same = tuned.M == asked.M && tuned.N == asked.N && tuned.K == asked.K &&
                       tuned.alignment == asked.alignment && tuned.layout == asked.layout &&
                       tuned.batch == asked.batch && tuned.batch_kind == asked.batch_kind &&
                       tuned.type_a == asked.type_a && tuned.type_b == asked.type_b &&
                       tuned.type_cd == asked.type_cd && tuned.accuracy == asked.accuracy;
  if (!is_same) return Sameness::none;
  const auto is_equal = [&](int a, int b) {
    return (a > 0 ? a : tuned.alignment) == (b > 0 ? b : asked.alignment);
  };
  return is_equal(tuned.alignment_a, asked.alignment_a) &&
                 is_equal(tuned.alignment_b, asked.alignment_b) &&
                 is_equal(tuned.alignment_cd, asked.alignment_cd)
             ? Sameness::full
             : Sameness::by_class;
}

}  // namespace gemm_tune
