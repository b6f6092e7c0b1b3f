// SPDX-License-Identifier: Apache-2.0
// The family wgmma_parts as the host sees it: launches, cost and search space.
#include "kernel_templates/family.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "core/launch/launch_plan.h"
#include "core/problem/problem.h"
#include "kernel_templates/matrix_maps.h"
#include "kernel_templates/parts_plan.h"
#include "kernel_templates/persistent_ctas.h"
#include "kernel_templates/registry/families.h"
#include "kernel_templates/wgmma_parts/params.cuh"

namespace gemm_tune::wgmma_parts {
namespace {

constexpr int kPartBytes = 2;  // of an element of a part

Traits traits(const Params& p) {
  Traits t;
  t.signature = parts::signature(p);
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

// The parts of an operand: lines along K, the matrices of each part in turns.
TensorMapSlot parts_map(const Params& p, CallValue address, std::int64_t lines,
                        const Problem& problem, int tile) {
  TensorMapSlot slot = {};
  slot.address = address;
  BoundTensorMap& map = slot.map;
  const std::int64_t row =
      std::max<std::int64_t>(parts::padded_k(problem), kBK);  // also where K is 0
  map.size = {row, lines, parts_of(p) * problem.batch};
  map.stride_bytes = {row * kPartBytes, row * lines * kPartBytes};
  map.box = {kBK, tile, parts_of(p)};
  map.dims = 3;
  map.element = TensorElement::bits_16;
  map.swizzle = Swizzle::bytes_128;
  map.promotion = L2Promotion::bytes_256;
  return slot;
}

// An operand that is not split.
TensorMapSlot stored_map(const parts::FoundOperand& operand, bool of_b, bool along_k,
                         const Problem& problem, int tile) {
  const int length = along_k ? kBK : wgmma::block_width(tile);
  const std::int64_t rows = of_b ? rows_b(problem) : rows_a(problem);
  TensorMapSlot slot = matrices_map(
      operand.at, {kPartBytes, of_b ? row_length_b(problem) : row_length_a(problem), rows,
                   problem.batch, length, along_k ? tile : kBK, length * kPartBytes});
  if (operand.ld) {
    slot.map.stride_bytes = {*operand.ld * kPartBytes, *operand.ld * kPartBytes * rows};
  } else {
    set_distances(slot, of_b ? CallValue::ldb : CallValue::lda,
                  of_b ? CallValue::stride_b : CallValue::stride_a, kPartBytes);
  }
  return slot;
}

// A product begins while its split ends.
bool may_overlap(const Problem& problem) {
  const auto m = static_cast<double>(problem.M), n = static_cast<double>(problem.N),
             k = static_cast<double>(problem.K), batch = static_cast<double>(problem.batch);
  const Signature& types = problem.signature;
  return (m * k * bytes_of(types.a) + k * n * bytes_of(types.b) + m * n * bytes_of(types.d)) *
             batch <=
         kMostBytesOfOverlap;
}

LaunchPlan plan(Values values, const Problem& problem, int sm_count) {
  const Params p = params_of<Params>(values);
  const parts::SplitKernels kernels = {parts_of_a(p), parts_of_b(p), p.TA != 0, p.TB != 0,
                                       /*have_clusters=*/true};
  LaunchPlan plan;
  const parts::Regions regions = parts::add_splits(plan, kernels, problem);
  const std::int64_t row_tiles = (problem.M - 1) / p.BM + 1, col_tiles = (problem.N - 1) / p.BN + 1;
  Step step;
  step.grid.x = std::min<std::int64_t>(row_tiles * col_tiles * problem.batch, sm_count);
  step.threads = threads(p);
  step.smem_bytes = smem_bytes(p);
  step.overlaps = may_overlap(problem);
  step.arguments.add_tensor_map(parts_of_a(p) > 1
                                    ? parts_map(p, regions.a.at, problem.M, problem, p.BM)
                                    : stored_map(regions.a, false, left_along_k(p), problem, p.BM));
  step.arguments.add_tensor_map(parts_of_b(p) > 1
                                    ? parts_map(p, regions.b.at, problem.N, problem, p.BN)
                                    : stored_map(regions.b, true, right_along_k(p), problem, p.BN));
  const int group = raster_group(p.BM, p.BN, static_cast<int>(row_tiles), sm_count);
  parts::add_product_args(step, kernels, regions, {p.BM, p.BN, group}, problem);
  plan.steps.push_back(std::move(step));
  return plan;
}

constexpr Params with_tile(int bm, int bn, int groups) {
  return {.BM = bm, .BN = bn, .GROUPS = groups, .PROMOTE = 64, .TA = 0, .TB = 0};
}

}  // namespace

KernelFamily family() {
  KernelFamily family = make_family<Params>(
      "wgmma_parts", /*revision=*/10,
      "fp32 on Hopper's tensor cores: operands split into parts of 16 bits, products of parts",
      {tile_m_param("BM", &Params::BM, {64, 128, 256}),
       tile_n_param("BN", &Params::BN, {32, 64, 80, 96, 112, 128, 144}),
       {"GROUPS", &Params::GROUPS, {1, 2}, "warpgroups that multiply"},
       {"PROMOTE", &Params::PROMOTE, {32, 64}, "k whose sums are added in fp32 at once"},
       transposed_a_param("TA", &Params::TA),
       transposed_b_param("TB", &Params::TB),
       parts::class_param("ACCURACY", &Params::ACCURACY),
       type_a_param("TYPE_A", &Params::TYPE_A),
       type_b_param("TYPE_B", &Params::TYPE_B)},
      rules().list, &reject, &traits);
  family.plan = plan;
  family.takes_gemm_args = false;
  family.representatives = values_of(
      {with_tile(128, 128, 2), with_tile(128, 144, 2), with_tile(128, 96, 2), with_tile(128, 64, 2),
       with_tile(64, 128, 1), with_tile(64, 64, 1), with_tile(64, 32, 1)});
  family.untuned = [](const Signature& asked, int sm) {
    return sm == 90 ? parts::values_for(with_tile(128, 128, 2), asked) : std::nullopt;
  };
  family.compile_seconds = 1;
  return family;
}

}  // namespace gemm_tune::wgmma_parts
