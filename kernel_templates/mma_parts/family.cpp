// SPDX-License-Identifier: Apache-2.0
// The family mma_parts as the host sees it: launches, cost and search space.
#include "kernel_templates/family.h"

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "core/launch/launch_plan.h"
#include "core/problem/problem.h"
#include "kernel_templates/cost.h"
#include "kernel_templates/mma_parts/params.cuh"
#include "kernel_templates/parts_plan.h"
#include "kernel_templates/registry/families.h"

namespace gemm_tune::mma_parts {
namespace {

constexpr double kPromotion = 2;     // instructions that scale a sum and add it
constexpr int kOtherRegisters = 38;  // addresses and counts, by 12 kernels for sm_75 to sm_120

Traits traits(const Params& p) {
  // As in mma.
  Traits t = tile_traits({p.BM, p.BN, p.BK, p.WM / 8, p.WN / 4}, threads(p), smem_bytes(p));
  t.signature = parts::signature(p);
  t.least_sm = is_async(p) ? 80 : 75;
  t.deeper_sm = is_async(p) ? 0 : 80;
  t.async_copy = is_async(p);
  t.stages = p.STAGES;
  t.predicated = true;
  t.transposed_a = p.TA != 0;
  t.transposed_b = p.TB != 0;
  t.promoted_k = kPromotedEach;
  t.feeds_ahead = true;
  t.barriers_per_tile_k = 1;
  t.unrolled_k = p.BK;
  t.registers_estimate = held_registers(p) + kOtherRegisters;
  // As in mma: every access of a warp moves 512 bytes.
  const int blocks = (parts_of_a(p) * p.WM + parts_of_b(p) * p.WN) / kBlock,
            chunks = copied_chunks(p);
  t.feed_instructions_per_k = 1.0 * blocks / kDepth;
  t.feed_wavefronts_per_k = 4 * t.feed_instructions_per_k;
  t.fill_instructions_per_tile_k = chunks * (is_async(p) ? 1 : 2);
  t.fill_wavefronts_per_tile_k = 4 * t.fill_instructions_per_tile_k;
  t.other_instructions_per_k = (20.0 + 4.0 * p.BK / kDepth + 3.0 * chunks) / p.BK +
                               kPromotion * sums_per_thread(p) / kPromotedEach;
  return t;
}

LaunchPlan plan(Values values, const Problem& problem, int /*sm_count*/) {
  const Params p = params_of<Params>(values);
  const parts::SplitKernels kernels = {parts_of_a(p), parts_of_b(p), p.TA != 0, p.TB != 0,
                                       /*have_clusters=*/false};
  LaunchPlan plan;
  const parts::Regions regions = parts::add_splits(plan, kernels, problem);
  const std::int64_t row_tiles = (problem.M - 1) / p.BM + 1, col_tiles = (problem.N - 1) / p.BN + 1;
  Step step;
  step.grid.x = row_tiles * col_tiles * problem.batch;
  step.threads = threads(p);
  step.smem_bytes = smem_bytes(p);
  parts::add_product_args(step, kernels, regions, {p.BM, p.BN, kRaster}, problem);
  plan.steps.push_back(std::move(step));
  return plan;
}

constexpr Params with_tile(int bm, int bn, int wm, int wn, int stages) {
  return {.BM = bm,
          .BN = bn,
          .BK = 32,
          .WM = wm,
          .WN = wn,
          .MMA_K = 16,
          .STAGES = stages,
          .TA = 0,
          .TB = 0};
}

// Where a third of the rate of tensor cores, or a sixth, is far above that of fp32, on every card
// of the architecture: 2.7 times on a T4, 5.3 or 2.7 on an A100, but 1.3 on an RTX A6000 and below
// 1 on an RTX 3090 (data sheets). Elsewhere a search decides.
std::optional<std::vector<int>> untuned(const Signature& asked, int sm) {
  if (sm != 75 && sm != 80) return std::nullopt;
  Params p = with_tile(64, 64, 32, 32, 2);
  if (sm < 80) p.MMA_K = 8;
  return parts::values_for(p, asked);
}

}  // namespace

KernelFamily family() {
  KernelFamily family = make_family<Params>(
      "mma_parts", /*revision=*/3,
      "fp32 on tensor cores by mma.sync: operands split into parts of 16 bits, products of parts",
      {tile_m_param("BM", &Params::BM, {32, 64, 128, 256}),
       tile_n_param("BN", &Params::BN, {32, 64, 96, 128, 256}),
       tile_k_param("BK", &Params::BK, {32, 64}),
       {"WM", &Params::WM, {16, 32, 64}, "warp tile rows"},
       {"WN", &Params::WN, {16, 32, 48, 64}, "warp tile columns"},
       {"MMA_K",
        &Params::MMA_K,
        {8, 16},
        "K elements of one instruction; 8 is what sm_75 has, which has no cp.async either"},
       stages_param("STAGES", &Params::STAGES, {2, 3, 4}),
       transposed_a_param("TA", &Params::TA),
       transposed_b_param("TB", &Params::TB),
       parts::class_param("ACCURACY", &Params::ACCURACY),
       type_a_param("TYPE_A", &Params::TYPE_A),
       type_b_param("TYPE_B", &Params::TYPE_B)},
      rules().list, &reject, &traits);
  family.plan = plan;
  family.takes_gemm_args = false;
  family.representatives = values_of({with_tile(128, 128, 64, 32, 3), with_tile(128, 64, 64, 32, 3),
                                      with_tile(64, 64, 32, 32, 3), with_tile(32, 32, 16, 16, 4)});
  family.untuned = untuned;
  family.compile_seconds = 0.8;
  return family;
}

}  // namespace gemm_tune::mma_parts
