// SPDX-License-Identifier: Apache-2.0
#include "kernel_templates/parts_plan.h"

#include <cstddef>
#include <vector>

#include "core/types/signature.h"
#include "kernel_templates/device/parts/split_shape.cuh"
#include "kernel_templates/product_plan.h"

namespace gemm_tune::parts {
namespace {

static_assert(kClassF16x3 == static_cast<int>(Accuracy::fp32_f16x3) &&
              kClassBf16x6 == static_cast<int>(Accuracy::fp32_bf16x6));
constexpr int kPartBytes = 2;                // of an element of a part
constexpr int kFlagBytes = 2 * sizeof(int);  // Args::flags

// Bytes of all parts of so many lines: of the matrices of a batch.
std::int64_t parts_bytes(const SplitKernels& kernels, std::int64_t lines, const Problem& problem) {
  return kernels.parts * kPartBytes * problem.batch * lines * padded_k(problem);
}

std::int64_t copy_bytes(const SplitKernels& kernels, std::int64_t lines, const Problem& problem) {
  return parts_bytes(kernels, lines, problem) + problem.batch * lines * bytes_of(kSumType);
}

Step split_step(const SplitKernels& kernels, const Problem& problem, const Regions& regions,
                Copies which) {
  const bool has_a = which != Copies::of_b, has_b = which != Copies::of_a;
  const bool a_along_k = !kernels.transposed_a, b_along_k = kernels.transposed_b;
  const Split split = {kernels.parts, (has_a && !a_along_k) || (has_b && !b_along_k),
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
  const auto matrix_of = [&](std::int64_t lines, bool along_k) {
    const int lines_of_share = split_lines(split, along_k);
    SplitMatrix matrix = {};
    matrix.lines = static_cast<int>(lines);
    matrix.factors_at = parts_bytes(kernels, lines, problem);
    matrix.shares = static_cast<int>((lines + lines_of_share - 1) / lines_of_share);
    return matrix;
  };
  args.a = matrix_of(problem.M, a_along_k);
  args.b = matrix_of(problem.N, b_along_k);
  const auto units = [&](const SplitMatrix& matrix, bool along_k) {
    const std::int64_t shares = problem.batch * matrix.shares;
    return along_k ? (shares + step.grid.y - 1) / step.grid.y : shares;
  };
  const std::int64_t units_a = has_a ? units(args.a, a_along_k) : 0;
  step.grid.x = units_a + (has_b ? units(args.b, b_along_k) : 0);
  args.units_a = static_cast<int>(units_a);
  std::vector<Slot> slots = {{regions.flags, offsetof(SplitArgs, flag)}};
  const auto patch = [&](std::size_t matrix, CallValue from, CallValue ld, CallValue stride,
                         CallValue to) {
    slots.push_back({from, matrix + offsetof(SplitMatrix, from)});
    slots.push_back({to, matrix + offsetof(SplitMatrix, to)});
    slots.push_back({ld, matrix + offsetof(SplitMatrix, ld)});
    if (problem.batch > 1) slots.push_back({stride, matrix + offsetof(SplitMatrix, stride)});
  };
  patch(offsetof(SplitArgs, a), CallValue::A, CallValue::lda, CallValue::stride_a, regions.a);
  patch(offsetof(SplitArgs, b), CallValue::B, CallValue::ldb, CallValue::stride_b, regions.b);
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
  const auto add_copy = [&](CallValue of, std::int64_t lines) {
    const CallValue at = plan.add_region(copy_bytes(kernels, lines, problem), kAlignment);
    plan.regions.back().copy_of = of;
    plan.regions.back().may_be_kept = true;
    return at;
  };
  regions.a = add_copy(CallValue::A, problem.M);
  regions.b = add_copy(CallValue::B, problem.N);
  for (const Copies which : {Copies::of_both, Copies::of_a, Copies::of_b}) {
    plan.steps.push_back(split_step(kernels, problem, regions, which));
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
  args.a.factors_at = parts_bytes(kernels, problem.M, problem);
  args.b.factors_at = parts_bytes(kernels, problem.N, problem);
  static_assert(offsetof(Args, beta) == offsetof(Args, alpha) + sizeof(float));
  std::vector<Slot> slots = {{CallValue::alpha_beta, offsetof(Args, alpha)},
                             {CallValue::A, offsetof(Args, A)},
                             {CallValue::B, offsetof(Args, B)},
                             {CallValue::D, offsetof(Args, D)},
                             {CallValue::C, offsetof(Args, C)},
                             {CallValue::lda, offsetof(Args, lda)},
                             {CallValue::ldb, offsetof(Args, ldb)},
                             {CallValue::ldc, offsetof(Args, ldd)},
                             {regions.flags, offsetof(Args, flags)},
                             {regions.a, offsetof(Args, a) + offsetof(OperandCopy, at)},
                             {regions.b, offsetof(Args, b) + offsetof(OperandCopy, at)},
                             {CallValue::kept_a, offsetof(Args, a) + offsetof(OperandCopy, kept)},
                             {CallValue::kept_b, offsetof(Args, b) + offsetof(OperandCopy, kept)}};
  if (problem.batch > 1) {
    slots.push_back({CallValue::stride_a, offsetof(Args, stride_a)});
    slots.push_back({CallValue::stride_b, offsetof(Args, stride_b)});
    slots.push_back({CallValue::stride_c, offsetof(Args, stride_d)});
  }
  add_epilogue_slots(slots, offsetof(Args, operands), problem);
  product.arguments.add(args, slots);
}

}  // namespace gemm_tune::parts
