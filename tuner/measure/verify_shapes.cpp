// SPDX-License-Identifier: Apache-2.0
#include "tuner/measure/verify_shapes.h"

#include <algorithm>

#include "kernel_templates/persistent_ctas.h"

namespace gemm_tune {
namespace {

constexpr std::int64_t kGuardCells = 1024;  // before and after C

// The smallest leading dimension for rows of this width whose alignment is exactly so many bytes.
std::int64_t padded(std::int64_t width, int alignment_bytes, int element_bytes) {
  const std::int64_t alignment = alignment_bytes / element_bytes;
  std::int64_t ld = (width + alignment - 1) / alignment * alignment;
  if (alignment_bytes < kWidestAccessBytes && ld % (2 * alignment) == 0) ld += alignment;
  return std::max<std::int64_t>(ld, alignment);
}

// The shape with the matrices of a batch one after another.
GemmCall without_gaps(GemmCall shape) {
  shape.stride_a = rows_a(shape.problem) * shape.lda;
  shape.stride_b = rows_b(shape.problem) * shape.ldb;
  shape.stride_c = shape.problem.M * shape.ldc;
  return shape;
}

}  // namespace

GemmCall shape_of(const Problem& problem) {
  GemmCall shape = packed_call(problem);
  if (alignment_of(shape) == problem.alignment && problem.K > 0) return shape;
  const auto aligned = [](std::int64_t width, int bytes, ElementType type) {
    return padded(width, bytes, bytes_of(type));
  };
  const Signature& types = problem.signature;
  shape.lda = aligned(shape.lda, problem.alignment.a, types.a);
  shape.ldb = aligned(shape.ldb, problem.alignment.b, types.b);
  shape.ldc = aligned(shape.ldc, problem.alignment.d, types.d);
  return without_gaps(shape);
}

Matrices matrices(std::int64_t rows, std::int64_t cols, std::int64_t ld, std::int64_t stride,
                  std::int64_t batch, ElementType type) {
  const std::int64_t apart = batch > 1 ? stride : rows * ld;
  // Divided by in any case.
  return {rows, cols, ld, std::max<std::int64_t>(apart, 1), batch, 0, type};
}

Matrices matrices_a(const GemmCall& shape) {
  const Problem& p = shape.problem;
  return matrices(rows_a(p), row_length_a(p), shape.lda, shape.stride_a, p.batch, p.signature.a);
}

Matrices matrices_b(const GemmCall& shape) {
  const Problem& p = shape.problem;
  return matrices(rows_b(p), row_length_b(p), shape.ldb, shape.stride_b, p.batch, p.signature.b);
}

Matrices matrices_c(const GemmCall& shape) {
  const Problem& p = shape.problem;
  Matrices c = matrices(p.M, p.N, shape.ldc, shape.stride_c, p.batch, p.signature.d);
  c.guard = kGuardCells;
  return c;
}

std::vector<GemmCall> small_verification_shapes(const KnownConfig& config, int sm_count,
                                                const Epilogue& epilogue) {
  const Traits& t = config.traits;
  const int vec = t.vec;
  const Alignment aligned = needed_alignment(config.recipe, t.signature);
  const auto rounded_up = [](std::int64_t size, std::int64_t multiple) {
    return (size + multiple - 1) / multiple * multiple;
  };
  const auto with_gaps = [&](std::int64_t M, std::int64_t N, std::int64_t K,
                             std::int64_t batch = 1) {
    M = rounded_up(M, config.recipe.multiple_m);
    N = rounded_up(N, config.recipe.multiple_n);
    if (!t.repack) K = rounded_up(K, config.recipe.multiple_k);
    GemmCall shape;
    shape.problem = packed_problem(M, N, K, config.recipe.layout, batch, t.signature);
    shape.problem.epilogue = epilogue;
    shape.problem.batch_kind = config.recipe.batch_kind;
    const int a = bytes_of(t.signature.a), b = bytes_of(t.signature.b);
    const int d = bytes_of(t.signature.d);
    shape.lda = padded(row_length_a(shape.problem) + vec, aligned.a, a);
    shape.ldb = padded(row_length_b(shape.problem) + 2 * vec, aligned.b, b);
    shape.ldc = padded(N + vec, aligned.d, d);
    shape = without_gaps(shape);
    shape.stride_a += aligned.a / a;
    shape.stride_b += 3 * (aligned.b / b);
    shape.stride_c += 5 * (aligned.d / d);
    shape.problem = problem_of(shape);
    return shape;
  };
  // Shares of K that are not all equally long; of 2 x 2 tiles, each CTA that shares them gets two
  // slices and a half; tiles that are cut become four parts.
  const std::int64_t sharing = std::int64_t{t.tail_ctas_per_sm} * sm_count;
  const std::int64_t slices = std::max<std::int64_t>(
      {3, (32 + t.tile_k - 1) / t.tile_k, t.split_k > 1 ? 2 * t.split_k + 1 : 0, sharing * 5 / 8,
       t.cuts_tiles ? 4 * kLeastPartBlocks + 1 : 0});
  std::vector<GemmCall> shapes = {with_gaps(2 * t.tile_m, 2 * t.tile_n, slices * t.tile_k)};
  if (t.predicated) {
    shapes.push_back(with_gaps(7, 5, 3));
    shapes.push_back(with_gaps(t.tile_m + 3, 2 * t.tile_n - 1, slices * t.tile_k + 1));
  }
  const int ragged = t.predicated ? 1 : 0, ragged_k = t.predicated || t.repack ? 1 : 0;
  // TAIL and REPACK take no batches.
  shapes.push_back(with_gaps(std::max(t.tile_m - ragged, 1), 2 * t.tile_n - ragged,
                             slices * t.tile_k - ragged_k,
                             t.tail_ctas_per_sm > 0 || t.repack ? 1 : 3));
  if (t.batch_kind == BatchKind::pointers) {
    GemmCall unaligned = shapes.back();
    for (std::int64_t* stride : {&unaligned.stride_a, &unaligned.stride_b, &unaligned.stride_c}) {
      ++*stride;
    }
    shapes.push_back(unaligned);
  }
  return shapes;
}

}  // namespace gemm_tune
