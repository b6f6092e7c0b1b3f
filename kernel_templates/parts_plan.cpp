// SPDX-License-Identifier: Apache-2.0
#include "kernel_templates/parts_plan.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

#include "kernel_templates/product_plan.h"

namespace gemm_tune::parts {
namespace {

static_assert(kClassF16x3 == static_cast<int>(Accuracy::fp32_f16x3) &&
              kClassBf16x6 == static_cast<int>(Accuracy::fp32_bf16x6));
constexpr int kPartBytes = 2;                // of an element of a part
constexpr int kFlagBytes = 4 * sizeof(int);  // Args::flags

// An operand as it is stored, and how many parts it has.
struct StoredOperand {
  CallValue value, ld, stride;
  int parts;
  bool along_k;
  std::int64_t lines;
  int alignment;  // bytes

  bool is_split() const { return parts > 1; }
  bool is_copied() const { return is_split() || alignment < kChunk * kPartBytes; }
};

StoredOperand a_of(const SplitKernels& kernels, const Problem& problem) {
  return {CallValue::A,          CallValue::lda, CallValue::stride_a, kernels.parts_a,
          !kernels.transposed_a, problem.M,      problem.alignment.a};
}
StoredOperand b_of(const SplitKernels& kernels, const Problem& problem) {
  return {CallValue::B,         CallValue::ldb, CallValue::stride_b, kernels.parts_b,
          kernels.transposed_b, problem.N,      problem.alignment.b};
}

// Bytes of all parts: of the matrices of a batch.
std::int64_t parts_bytes(const StoredOperand& operand, const Problem& problem) {
  return operand.parts * kPartBytes * problem.batch * operand.lines * padded_k(problem);
}

// Of an operand of one part.
std::int64_t rows_of(const StoredOperand& operand, const Problem& problem) {
  return operand.along_k ? operand.lines : problem.K;
}
std::int64_t copied_row_of(const StoredOperand& operand, const Problem& problem) {
  return copied_row(static_cast<int>(operand.along_k ? problem.K : operand.lines));
}

std::int64_t copy_bytes(const StoredOperand& operand, const Problem& problem) {
  if (!operand.is_split()) {
    return kPartBytes * problem.batch * rows_of(operand, problem) * copied_row_of(operand, problem);
  }
  return parts_bytes(operand, problem) + told_bytes(operand.parts, problem.batch * operand.lines);
}

// Nothing where no copies are made.
std::optional<Step> split_step(const SplitKernels& kernels, const Problem& problem,
                               const Regions& regions, Copies which) {
  const StoredOperand a = a_of(kernels, problem), b = b_of(kernels, problem);
  const bool has_a = which != Copies::of_b && a.is_copied();
  const bool has_b = which != Copies::of_a && b.is_copied();
  if (!has_a && !has_b) return std::nullopt;
  const auto is_across = [](const StoredOperand& operand) {
    return operand.is_split() && !operand.along_k;
  };
  const Split split = {std::max(a.parts, b.parts),
                       (has_a && is_across(a)) || (has_b && is_across(b)),
                       static_cast<int>(problem.K), kernels.have_clusters};
  SplitArgs args = {};
  args.K = static_cast<int>(problem.K);
  args.parts_k = static_cast<int>(padded_k(problem));
  args.batch = static_cast<int>(problem.batch);
  Step step;
  step.entry = splits_in_clusters(split) ? "split_in_clusters" : "split";
  step.makes = which;
  step.threads = split_threads(split);
  step.smem_bytes = split_smem_bytes(split);
  step.only_with_operands = true;
  step.cluster.y = split_cluster(split);
  step.grid.y = split_shares(split);
  const auto matrix_of = [&](const StoredOperand& operand) {
    std::int64_t of_share = split_lines(split, operand.along_k), all = operand.lines;
    if (!operand.is_split()) {  // chunks
      of_share = kCopiedChunks * step.threads;
      all = rows_of(operand, problem) * (copied_row_of(operand, problem) / kChunk);
    }
    SplitMatrix matrix = {};
    matrix.lines = static_cast<int>(operand.lines);
    matrix.factors_at = parts_bytes(operand, problem);
    matrix.shares = static_cast<int>((all + of_share - 1) / of_share);
    return matrix;
  };
  args.a = matrix_of(a);
  args.b = matrix_of(b);
  const auto units = [&](const SplitMatrix& matrix, const StoredOperand& operand) {
    const std::int64_t shares = problem.batch * matrix.shares;
    return is_across(operand) ? shares : (shares + step.grid.y - 1) / step.grid.y;
  };
  const std::int64_t units_a = has_a ? units(args.a, a) : 0;
  step.grid.x = units_a + (has_b ? units(args.b, b) : 0);
  args.units_a = static_cast<int>(units_a);
  std::vector<Slot> slots = {{regions.flags, offsetof(SplitArgs, flags)}};
  const auto patch = [&](std::size_t matrix, const StoredOperand& operand, CallValue to) {
    slots.push_back({operand.value, matrix + offsetof(SplitMatrix, from)});
    slots.push_back({to, matrix + offsetof(SplitMatrix, to)});
    slots.push_back({operand.ld, matrix + offsetof(SplitMatrix, ld)});
    if (problem.batch > 1) {
      slots.push_back({operand.stride, matrix + offsetof(SplitMatrix, stride)});
    }
  };
  if (a.is_copied()) patch(offsetof(SplitArgs, a), a, regions.a.at);
  if (b.is_copied()) patch(offsetof(SplitArgs, b), b, regions.b.at);
  step.arguments.add(args, slots);
  return step;
}

}  // namespace

std::int64_t padded_k(const Problem& problem) {
  return (problem.K + kPaddedK - 1) / kPaddedK * kPaddedK;
}

Regions add_splits(LaunchPlan& plan, const SplitKernels& kernels, const Problem& problem) {
  constexpr std::int64_t kAlignment = 256;
  plan.zeroed_bytes = kFlagBytes;
  Regions regions = {};
  regions.flags = plan.add_region(plan.zeroed_bytes);
  const auto found = [&](const StoredOperand& operand) {
    FoundOperand found = {operand.value, std::nullopt};
    if (!operand.is_copied()) return found;
    found.at = plan.add_region(copy_bytes(operand, problem), kAlignment);
    plan.regions.back().copy_of = operand.value;
    plan.regions.back().may_be_kept = operand.is_split();
    if (!operand.is_split()) found.ld = copied_row_of(operand, problem);
    return found;
  };
  regions.a = found(a_of(kernels, problem));
  regions.b = found(b_of(kernels, problem));
  for (const Copies which : {Copies::of_both, Copies::of_a, Copies::of_b}) {
    std::optional<Step> step = split_step(kernels, problem, regions, which);
    if (step) plan.steps.push_back(std::move(*step));
  }
  return regions;
}

void add_product_args(Step& product, const SplitKernels& kernels, const Regions& regions,
                      const ProductTiles& tiles, const Problem& problem) {
  Args args = {};
  args.M = static_cast<int>(problem.M);
  args.N = static_cast<int>(problem.N);
  args.K = static_cast<int>(problem.K);
  args.tiles = tile_raster((args.M - 1) / tiles.rows + 1, (args.N - 1) / tiles.cols + 1,
                           static_cast<int>(problem.batch), tiles.raster_group);
  const StoredOperand a = a_of(kernels, problem), b = b_of(kernels, problem);
  const auto factors_at = [&](const StoredOperand& operand, const FoundOperand& found) {
    return operand.is_split() ? parts_bytes(operand, problem) : found.ld.value_or(0);
  };
  args.a.factors_at = factors_at(a, regions.a);
  args.b.factors_at = factors_at(b, regions.b);
  static_assert(offsetof(Args, beta) == offsetof(Args, alpha) + sizeof(float));
  std::vector<Slot> slots = {{CallValue::alpha_beta, offsetof(Args, alpha)},
                             {CallValue::A, offsetof(Args, A)},
                             {CallValue::B, offsetof(Args, B)},
                             {CallValue::D, offsetof(Args, D)},
                             {CallValue::C, offsetof(Args, C)},
                             {CallValue::lda, offsetof(Args, lda)},
                             {CallValue::ldb, offsetof(Args, ldb)},
                             {CallValue::ldc, offsetof(Args, ldd)},
                             {regions.flags, offsetof(Args, flags)}};
  const auto add_copy = [&](const StoredOperand& operand, const FoundOperand& found, std::size_t at,
                            CallValue kept) {
    slots.push_back({found.at, at + offsetof(OperandCopy, at)});
    if (operand.is_split()) slots.push_back({kept, at + offsetof(OperandCopy, kept)});
  };
  add_copy(a, regions.a, offsetof(Args, a), CallValue::kept_a);
  add_copy(b, regions.b, offsetof(Args, b), CallValue::kept_b);
  if (problem.batch > 1) {
    slots.push_back({CallValue::stride_a, offsetof(Args, stride_a)});
    slots.push_back({CallValue::stride_b, offsetof(Args, stride_b)});
    slots.push_back({CallValue::stride_c, offsetof(Args, stride_d)});
  }
  add_epilogue_slots(slots, offsetof(Args, operands), problem);
  product.arguments.add(args, slots);
}

}  // namespace gemm_tune::parts
