// SPDX-License-Identifier: Apache-2.0
// The plans of families whose kernels take GemmArgs.
#include "kernel_templates/product_plan.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "kernel_templates/device/copy/repack_args.cuh"
#include "kernel_templates/registry/registry.h"

namespace gemm_tune {
namespace {

// A step's argument for a call, as its kernel gets it.
template <class Args>
Args argument(const LaunchPlan& plan, std::size_t step, const GemmCall& call, char* workspace) {
  Args args{};
  run_plan(
      plan, call, [&](std::size_t i) { return workspace + plan.regions[i].offset; },
      [](auto&&...) {},
      [&](std::size_t index, const Step&, void** parameters) {
        if (index == step) args = *static_cast<const Args*>(parameters[0]);
      });
  return args;
}

KnownConfig warp_tiled(const std::string& shares, const std::string& more = "") {
  return check_config(parse_config(
      "warp_tiled/CLUSTER=0,BM=64,BN=64,BK=8,WM=32,WN=32,TM=8,TN=4,WARPS_K=1,STAGES=2,ASYNC=0,"
      "FRAGMENTS=2,VEC=4,RASTER=8,CTAS=1," +
      shares + ",TA=0,TB=0,PRED=1" + more));
}

GemmCall any_call(const Problem& problem) {
  static char operands[5 + kMostOperands];
  GemmCall call = packed_call(problem);
  call.alpha = 0.5;
  call.beta = 3;
  call.A = operands;
  call.B = operands + 1;
  call.C = operands + 2;
  call.D = operands + 3;
  for (int i = 0; i < problem.epilogue.operand_count(); ++i) {
    call.operands[static_cast<std::size_t>(i)] = operands + 4 + i;
  }
  return call;
}

TEST(ProductPlanTest, ItsArgumentIsTheCallTheCutAndTheSums) {
  const KnownConfig config = warp_tiled("SPLIT_K=1,TAIL=1");
  Problem problem = packed_problem(128, 192, 800);  // six tiles on four SMs: two are cut
  problem.epilogue = *find_epilogue("scale+scale_row+bias_column+aux+relu+residual");
  const LaunchPlan plan = config.plan(problem, 4);
  ASSERT_EQ(plan.steps.size(), 1U);
  ASSERT_EQ(plan.regions.size(), 2U);
  EXPECT_EQ(plan.workspace_bytes, workspace_bytes(config.recipe, problem, 4));
  EXPECT_EQ(plan.zeroed_bytes, 65536);
  std::vector<char> workspace(1);
  const GemmCall call = any_call(problem);
  const GemmArgs args = product_argument(plan, call, workspace.data());
  EXPECT_EQ(args.M, 128);
  EXPECT_EQ(args.N, 192);
  EXPECT_EQ(args.K, 800);
  EXPECT_EQ(args.piece_k, grid_of(config.recipe, problem, 4).piece_k);
  EXPECT_GT(args.piece_k, 0);
  EXPECT_EQ(args.alpha, 0.5F);
  EXPECT_EQ(args.beta, 3.0F);
  EXPECT_EQ(args.A, call.A);
  EXPECT_EQ(args.B, call.B);
  EXPECT_EQ(args.C, call.C);
  EXPECT_EQ(args.D, call.D);
  EXPECT_EQ(args.operands[0], call.operands[0]);
  EXPECT_EQ(args.lda, 800);
  EXPECT_EQ(args.ldb, 192);
  EXPECT_EQ(args.ldc, 192);
  EXPECT_EQ(args.stride_a, 128 * 800);
  EXPECT_EQ(args.stride_b, 800 * 192);
  EXPECT_EQ(args.stride_c, 128 * 192);
  EXPECT_EQ(static_cast<void*>(args.counters), workspace.data());
  EXPECT_EQ(static_cast<void*>(args.partials), workspace.data() + 65536);
}

// 64 x 64 tiles; CTAs of 128 threads that add up four elements each.
TEST(ProductPlanTest, AReductionHasAThreadForEachFourElementsOfSharedTiles) {
  Problem problem = packed_problem(128, 192, 800, Layout::nn, 3);
  EXPECT_EQ(warp_tiled("SPLIT_K=5,TAIL=0").plan(problem, 4).steps.size(), 1U);
  const LaunchPlan split = warp_tiled("SPLIT_K=5,TAIL=0", ",REDUCE=1").plan(problem, 4);
  ASSERT_EQ(split.steps.size(), 2U);
  EXPECT_EQ(split.steps[1].entry, "reduce");
  EXPECT_EQ(split.steps[1].grid, (Grid{8, 6, 3}));
  EXPECT_EQ(split.steps[1].threads, 128);
  problem.batch = 1;
  const auto shared_tiles = [&](const std::string& tail, int sm_count) {
    const LaunchPlan plan =
        warp_tiled("SPLIT_K=1,TAIL=" + tail, ",REDUCE=1").plan(problem, sm_count);
    return plan.steps.size() == 1 ? 0 : plan.steps[1].grid.y;
  };
  EXPECT_EQ(shared_tiles("1", 4), 2);  // six tiles on four SMs: the last two are cut
  EXPECT_EQ(shared_tiles("3", 4), 6);  // on twelve places: all six are
  EXPECT_EQ(shared_tiles("1", 6), 0);  // a whole wave
}

TEST(ProductPlanTest, CopiesOfUnalignedOperandsAreMadeByAStepBefore) {
  const KnownConfig config = warp_tiled("SPLIT_K=2,TAIL=0", ",REPACK=1");
  Problem problem = packed_problem(128, 64, 1000);
  problem.alignment.a = 4;  // rows of A begin anywhere
  const LaunchPlan plan = config.plan(problem, 132);
  ASSERT_EQ(plan.steps.size(), 2U);
  EXPECT_EQ(plan.steps[0].entry, "repack");
  EXPECT_EQ(plan.workspace_bytes, workspace_bytes(config.recipe, problem, 132));
  ASSERT_EQ(plan.regions.size(), 3U);
  EXPECT_EQ(plan.regions[2].copy_of, CallValue::A);
  std::vector<char> workspace(1);
  const GemmCall call = any_call(problem);
  const RepackArgs copies = argument<RepackArgs>(plan, 0, call, workspace.data());
  EXPECT_EQ(copies.a.from, call.A);
  EXPECT_EQ(copies.a.from_ld, 1000);
  EXPECT_EQ(copies.a.to, workspace.data() + plan.regions[2].offset);
  EXPECT_EQ(copies.b.to_rows, 0);
  const GemmArgs product = argument<GemmArgs>(plan, 1, call, workspace.data());
  EXPECT_EQ(product.A, copies.a.to);
  EXPECT_EQ(product.lda, copies.a.to_ld);
  EXPECT_EQ(product.B, call.B);
  EXPECT_EQ(product.ldb, 64);
  EXPECT_EQ(config.plan(packed_problem(128, 64, 1000), 132).steps.size(), 1U) << "all are aligned";
}

}  // namespace
}  // namespace gemm_tune
