// SPDX-License-Identifier: Apache-2.0
// A GEMM problem: shape, types, layout, alignment and batch; with the device it is the database
// key.
//
// D = epilogue(alpha * op(A) * op(B) + beta * C) with op(A) [M,K], op(B) [K,N], C and D [M,N],
// stored row-major. alpha, beta and where the matrices lie belong to a call
// (core/problem/gemm_call.h), not to the problem. Values; no thread rule.
#pragma once

#include <algorithm>
#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/problem/epilogue.h"
#include "core/problem/launch_problem.h"
#include "core/types/signature.h"

namespace gemm_tune {

constexpr bool transposes_a(Layout layout) { return layout == Layout::tn || layout == Layout::tt; }
constexpr bool transposes_b(Layout layout) { return layout == Layout::nt || layout == Layout::tt; }
constexpr Layout layout_of(bool transposed_a, bool transposed_b) {
  if (transposed_a) return transposed_b ? Layout::tt : Layout::tn;
  return transposed_b ? Layout::nt : Layout::nn;
}

// "nn", "nt", "tn", "tt".
std::string_view to_string(Layout layout);

// The inverse of to_string; the parts behind the sizes may have any order. Throws UsageError naming
// the text and the part that is none.
Layout parse_layout(std::string_view text);

// "strided", "pointers", "groups".
std::string_view to_string(BatchKind kind);

// Bytes that divide an operand's leading dimension, base address and batch stride: a power of two
// from an element's size to kWidestAccessBytes. Of a batch of pointers those that divide the
// leading dimension: the addresses are known on the device only.
struct Alignment {
  int a = bytes_of(ElementType()), b = a, c = a, d = a;

  friend auto operator<=>(const Alignment&, const Alignment&) = default;
};

// "16" where all operands have the same, else that of A, B, C and D: "16/16/4/4".
std::string to_string(const Alignment& bytes);

struct Problem {
  Signature signature;
  std::int64_t M = 0, N = 0, K = 0;  // M, N >= 1, K >= 0, each at most kMaxEdge
  Layout layout = Layout::nn;
  Alignment alignment;
  std::int64_t batch = 1;  // independent products of one call
  BatchKind batch_kind = BatchKind::strided;
  Epilogue epilogue;

  friend auto operator<=>(const Problem&, const Problem&) = default;
};

// Every operand aligned to `elements` of its elements, at most to kWidestAccessBytes.
Alignment uniform_alignment(const Signature& signature, int elements);

// How many elements of each operand an access may have; of C and D together.
struct Alignments {
  int a, b, cd;
};

// No access has more elements than the widest one has of the wider of A and B, for which the
// alignment of the widest access is enough, whatever an operand's type.
constexpr Alignments alignments(const Problem& problem) {
  const Alignment& bytes = problem.alignment;
  const Signature& types = problem.signature;
  const int most = kWidestAccessBytes / std::max(bytes_of(types.a), bytes_of(types.b));
  const auto elements = [&](int aligned, ElementType type) {
    return aligned == kWidestAccessBytes ? most : std::min(aligned / bytes_of(type), most);
  };
  return {elements(bytes.a, types.a), elements(bytes.b, types.b),
          std::min(elements(bytes.c, types.c), elements(bytes.d, types.d))};
}

// The same as the digits of a number, A's first, as in 411, where they differ; else 0.
constexpr int differing_alignments(const Problem& problem) {
  const Alignments aligned = alignments(problem);
  const bool differ = aligned.a != aligned.b || aligned.b != aligned.cd;
  return differ ? 100 * aligned.a + 10 * aligned.b + aligned.cd : 0;
}

// The alignment class: the least alignment of all operands, in elements.
constexpr int alignment_class(const Problem& problem) {
  const Alignments aligned = alignments(problem);
  return std::min({aligned.a, aligned.b, aligned.cd});
}

// The alignment class once A and B have been copied to aligned rows.
constexpr int repacked_class(const Problem& problem) { return alignments(problem).cd; }

// The problem in this alignment class: with packed matrices if these have the class, else with the
// same alignment for every operand.
Problem in_class(Problem problem, int elements);

// A problem whose matrices are packed: each leading dimension is the length of a stored row, each
// batch stride the size of a matrix.
Problem packed_problem(std::int64_t M, std::int64_t N, std::int64_t K, Layout layout = Layout::nn,
                       std::int64_t batch = 1, const Signature& signature = {});

// The lengths of a stored row of A and of B, which are the least lda and ldb; the numbers of rows.
std::int64_t row_length_a(const Problem& problem);
std::int64_t row_length_b(const Problem& problem);
std::int64_t rows_a(const Problem& problem);
std::int64_t rows_b(const Problem& problem);

// Why there is no such product, as a sentence fragment; nothing where there is: an operand of an
// epilogue that lies as D does has no addresses beside pointers.
std::optional<std::string> why_impossible(const Problem& problem);

// Floating-point operations of one call: 2 M N K batch.
double flops(const Problem& problem);

// "1024x512x256", followed by all differences from packed_problem(M, N, K), as in
// "1024x512x256:type=f16:layout=nt:align=8:batch=8:epilogue=bias_column+relu". align is the
// alignment of each operand in bytes: one number if A, B, C and D have the same, else all four, as
// in align=16/16/4/4. A batch of pointers is "batch=8:pointers". The text names a problem in the
// database too.
std::string to_string(const Problem& problem);

// What a problem's text leaves unsaid.
struct ProblemDefaults {
  Layout layout = Layout::nn;
  std::int64_t batch = 1;
  Signature signature = {};
};

// The inverse of to_string. Throws UsageError naming the text.
Problem parse_problem(std::string_view text, const ProblemDefaults& defaults = {});

}  // namespace gemm_tune
