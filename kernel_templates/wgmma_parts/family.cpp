// SPDX-License-Identifier: Apache-2.0
// The family wgmma_parts as the host sees it: launches, cost and search space.
#include "kernel_templates/family.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "core/launch/launch_plan.h"
#include "core/problem/problem.h"
#include "core/types/signature.h"
#include "kernel_templates/product_plan.h"
#include "kernel_templates/registry/families.h"
#include "kernel_templates/wgmma_parts/args.cuh"
#include "kernel_templates/wgmma_parts/params.cuh"

namespace gemm_tune::wgmma_parts {
namespace {

static_assert(kClassF16x3 == static_cast<int>(Accuracy::fp32_f16x3) &&
              kClassBf16x6 == static_cast<int>(Accuracy::fp32_bf16x6));
constexpr Signature signature(const Params& p) {
  Signature of_sums = signature_of(kSumType);
  of_sums.accuracy = static_cast<Accuracy>(p.ACCURACY);
  return of_sums;
}
constexpr int kPartBytes = 2;                // of an element of a part
constexpr int kFlagBytes = 2 * sizeof(int);  // Args::flags

Traits traits(const Params& p) {
  Traits t;
  t.signature = signature(p);
  t.least_sm = t.only_sm = 90;
  t.threads = threads(p);
  t.tile_m = p.BM;
  t.tile_n = p.BN;
  t.tile_k = kBK;
  t.stages = stages(p);
  t.warpgroup_columns = p.BN;
  t.smem_bytes = smem_bytes(p);
  t.predicated = true;
  t.transposed_a = p.TA != 0;
  t.transposed_b = p.TB != 0;
  // As ptxas counts: what setmaxnreg moves between warpgroups is none of its business.
  t.registers_estimate = min_of(255, kAllRegisters / threads(p) / 8 * 8);
  return t;
}

std::int64_t parts_k(const Problem& problem) { return (problem.K + kBK - 1) / kBK * kBK; }

// Bytes of all parts of so many lines: of the matrices of a batch.
std::int64_t parts_bytes(const Params& p, std::int64_t lines, const Problem& problem) {
  return parts(p) * kPartBytes * problem.batch * lines * parts_k(problem);
}

// The parts of an operand: lines along K, the matrices of each part in turns.
TensorMapSlot parts_map(const Params& p, CallValue address, std::int64_t lines,
                        const Problem& problem, int tile) {
  TensorMapSlot slot = {};
  slot.address = address;
  BoundTensorMap& map = slot.map;
  const std::int64_t row = std::max<std::int64_t>(parts_k(problem), kBK);  // also where K is 0
  map.size = {row, lines, parts(p) * problem.batch};
  map.stride_bytes = {row * kPartBytes, row * lines * kPartBytes};
  map.box = {kBK, tile, parts(p)};
  map.dims = 3;
  map.element = TensorElement::bits_16;
  map.swizzle = Swizzle::bytes_128;
  map.promotion = L2Promotion::bytes_256;
  return slot;
}

std::int64_t copy_bytes(const Params& p, std::int64_t lines, const Problem& problem) {
  return parts_bytes(p, lines, problem) + problem.batch * lines * bytes_of(kSumType);
}

SplitMatrix split_matrix(const Params& p, std::int64_t lines, int lines_of_share,
                         const Problem& problem) {
  SplitMatrix matrix = {};
  matrix.lines = static_cast<int>(lines);
  matrix.factors_at = parts_bytes(p, lines, problem);
  matrix.shares = static_cast<int>((lines + lines_of_share - 1) / lines_of_share);
  return matrix;
}

// Where the copies and what belongs to them lie.
struct Regions {
  CallValue flags, a, b;
};

// Splits both operands, or one.
Step split_step(const Params& p, const Problem& problem, const Regions& regions, Copies which) {
  const bool has_a = which != Copies::of_b, has_b = which != Copies::of_a;
  const bool across = (has_a && p.TA != 0) || (has_b && p.TB == 0);
  SplitArgs args = {};
  args.K = static_cast<int>(problem.K);
  args.parts_k = static_cast<int>(parts_k(problem));
  args.batch = static_cast<int>(problem.batch);
  Step step;
  step.entry = splits_in_clusters(p, across, args.K) ? "split_in_clusters" : "split";
  step.makes = which;
  step.threads = split_threads(p, across, args.K);
  step.smem_bytes = split_smem_bytes(p, across, args.K);
  step.only_with_operands = true;
  step.cluster.y = split_cluster(p, across, args.K);
  step.grid.y = split_shares(p, across, args.K);
  const auto matrix_of = [&](std::int64_t lines, bool along_k) {
    return split_matrix(p, lines, split_lines(p, along_k, args.K, step.threads), problem);
  };
  args.a = matrix_of(problem.M, p.TA == 0);
  args.b = matrix_of(problem.N, p.TB != 0);
  const auto units = [&](const SplitMatrix& matrix, bool along_k) {
    const std::int64_t shares = problem.batch * matrix.shares;
    return along_k ? (shares + step.grid.y - 1) / step.grid.y : shares;
  };
  const std::int64_t units_a = has_a ? units(args.a, p.TA == 0) : 0;
  step.grid.x = units_a + (has_b ? units(args.b, p.TB != 0) : 0);
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

// Rows of tiles that a wave covers where it reads the fewest bytes: as many rows of D as columns.
// The groups are about equal.
int raster_group(const Params& p, int row_tiles, int workers) {
  const double square = std::sqrt(1.0 * workers * p.BN / p.BM);
  const int groups = static_cast<int>(std::ceil(row_tiles / std::max(1.0, square)));
  return (row_tiles + groups - 1) / groups;
}

// A product begins while its split ends. Where wgmma's operands are larger than that, overlap costs
// more than the few us of a launch (docs/notes/kernels/wgmma.md).
constexpr double kMostBytesOfOverlap = 20 << 20;
bool may_overlap(const Problem& problem) {
  const auto m = static_cast<double>(problem.M), n = static_cast<double>(problem.N),
             k = static_cast<double>(problem.K), batch = static_cast<double>(problem.batch);
  return (m * k + k * n + m * n) * batch * bytes_of(kSumType) <= kMostBytesOfOverlap;
}

Step product_step(const Params& p, const Problem& problem, int sm_count, const Regions& regions) {
  Args args = {};
  args.M = static_cast<int>(problem.M);
  args.N = static_cast<int>(problem.N);
  args.K = static_cast<int>(problem.K);
  args.row_tiles = (args.M - 1) / p.BM + 1;
  args.col_tiles = (args.N - 1) / p.BN + 1;
  args.batch = static_cast<int>(problem.batch);
  args.raster_group = raster_group(p, args.row_tiles, sm_count);
  args.a.factors_at = parts_bytes(p, problem.M, problem);
  args.b.factors_at = parts_bytes(p, problem.N, problem);
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
  Step step;
  step.grid.x = std::min(args.row_tiles * args.col_tiles * args.batch, sm_count);
  step.threads = threads(p);
  step.smem_bytes = smem_bytes(p);
  step.overlaps = may_overlap(problem);
  step.arguments.add_tensor_map(parts_map(p, regions.a, problem.M, problem, p.BM));
  step.arguments.add_tensor_map(parts_map(p, regions.b, problem.N, problem, p.BN));
  step.arguments.add(args, slots);
  return step;
}

LaunchPlan plan(Values values, const Problem& problem, int sm_count) {
  constexpr std::int64_t kAlignment = 256;
  const Params p = params_of<Params>(values);
  LaunchPlan plan;
  plan.zeroed_bytes = kFlagBytes;
  Regions regions = {};
  regions.flags = plan.add_region(plan.zeroed_bytes);
  const auto add_copy = [&](CallValue of, std::int64_t lines) {
    const CallValue at = plan.add_region(copy_bytes(p, lines, problem), kAlignment);
    plan.regions.back().copy_of = of;
    plan.regions.back().may_be_kept = true;
    return at;
  };
  regions.a = add_copy(CallValue::A, problem.M);
  regions.b = add_copy(CallValue::B, problem.N);
  for (const Copies which : {Copies::of_both, Copies::of_a, Copies::of_b}) {
    plan.steps.push_back(split_step(p, problem, regions, which));
  }
  plan.steps.push_back(product_step(p, problem, sm_count, regions));
  return plan;
}

constexpr Params with_tile(int bm, int bn, int groups) {
  return {.BM = bm, .BN = bn, .GROUPS = groups, .PROMOTE = 64, .TA = 0, .TB = 0};
}

std::vector<std::vector<int>> representatives() {
  std::vector<std::vector<int>> all;
  for (const Params& p :
       {with_tile(128, 128, 2), with_tile(128, 144, 2), with_tile(128, 96, 2),
        with_tile(128, 64, 2), with_tile(64, 128, 1), with_tile(64, 64, 1), with_tile(64, 32, 1)}) {
    all.push_back(values_of(p));
  }
  return all;
}

std::optional<std::vector<int>> untuned(const Signature& signature, int sm) {
  Params p = with_tile(128, 128, 2);
  p.ACCURACY = static_cast<int>(signature.accuracy);
  if (sm != 90 || reject(p) != nullptr || signature != wgmma_parts::signature(p)) {
    return std::nullopt;
  }
  return values_of(p);
}

}  // namespace

KernelFamily family() {
  KernelFamily family = make_family<Params>(
      "wgmma_parts", /*revision=*/8,
      "fp32 on Hopper's tensor cores: operands split into parts of 16 bits, products of parts",
      {tile_m_param("BM", &Params::BM, {64, 128, 256}),
       tile_n_param("BN", &Params::BN, {32, 64, 80, 96, 112, 128, 144}),
       {"GROUPS", &Params::GROUPS, {1, 2}, "warpgroups that multiply"},
       {"PROMOTE", &Params::PROMOTE, {32, 64}, "k whose sums are added in fp32 at once"},
       transposed_a_param("TA", &Params::TA),
       transposed_b_param("TB", &Params::TB),
       {"ACCURACY",
        &Params::ACCURACY,
        {kClassF16x3, kClassBf16x6},
        "4: two f16 parts of an operand, 5: three bf16 parts",
        Role::accuracy,
        kClassF16x3}},
      rules().list, &reject, &traits);
  family.plan = plan;
  family.takes_gemm_args = false;
  family.representatives = representatives();
  family.untuned = untuned;
  family.compile_seconds = 1;
  return family;
}

}  // namespace gemm_tune::wgmma_parts
