// SPDX-License-Identifier: Apache-2.0
// wgmma_f16x3: the problems that it serves, its launches, what lies in its workspace.

#include <cstdint>
#include <utility>

#include "core/launch/launch_plan.h"
#include "kernel_templates/registry/registry.h"
#include "kernel_templates/wgmma_f16x3/args.cuh"
#include "tests/kernel_templates/spaces.h"
#include "tests/matchers.h"

namespace gemm_tune {
namespace {

constexpr int kHopperSms = 132;

KnownConfig f16x3(const std::string& rest) { return known("wgmma_f16x3/" + rest); }

constexpr const char* kUsual = "BM=128,BN=128,GROUPS=2,PROMOTE=64,TA=0,TB=0";

TEST(F16x3, ServesItsAccuracyClassAndNoOther) {
  const KernelFamily& family = *find_family("wgmma_f16x3");
  EXPECT_TRUE(family.supports(parse_signature("f32+fp32_f16x3")));
  EXPECT_FALSE(family.supports(parse_signature("f32")));
  EXPECT_FALSE(family.supports(parse_signature("f32+tf32")));
  EXPECT_FALSE(find_family("warp_tiled")->supports(parse_signature("f32+fp32_f16x3")));
  EXPECT_TRUE(legal_for(f16x3(kUsual), parse_problem("33x41x7:type=f32+fp32_f16x3")));
  EXPECT_FALSE(legal_for(f16x3(kUsual), parse_problem("33x41x7")));
  EXPECT_FALSE(legal_for(known("naive/BM=16,BN=16,COALESCED=1,PRED=1"),
                         parse_problem("33x41x7:type=f32+fp32_f16x3")));
}

TEST(F16x3, ServesEveryAlignmentOnHopper) {
  const KnownConfig config = f16x3(kUsual);
  EXPECT_EQ(why_illegal(config.recipe, parse_problem("33x41x7:type=f32+fp32_f16x3:batch=3")),
            std::nullopt);
  EXPECT_TRUE(has_instructions(config.traits, 90));
  EXPECT_FALSE(has_instructions(config.traits, 100));
  EXPECT_FALSE(config.is_exportable());
}

TEST(F16x3, SplitsOperandsBeforeTheProduct) {
  const Problem problem = parse_problem("1000x2000x72:type=f32+fp32_f16x3:batch=3");
  const LaunchPlan plan = f16x3(kUsual).plan(problem, kHopperSms);
  ASSERT_EQ(plan.steps.size(), 4U);
  const std::pair<Copies, std::int64_t> splits[] = {
      {Copies::of_both, 3 * (125 + 250)},  // 8 rows of A a CTA, 8 columns of B
      {Copies::of_a, 3 * 125},
      {Copies::of_b, 3 * 250}};
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(plan.steps[i].entry, "split");
    EXPECT_TRUE(plan.steps[i].only_with_operands);
    EXPECT_EQ(plan.steps[i].makes, splits[i].first);
    EXPECT_EQ(plan.steps[i].grid.x, splits[i].second);
  }
  EXPECT_EQ(plan.steps[3].entry, kProductEntry);
  EXPECT_EQ(plan.product().grid.x, kHopperSms);
  ASSERT_EQ(plan.regions.size(), 3U);
  EXPECT_EQ(plan.zeroed_bytes, 8);
  EXPECT_EQ(plan.regions[1].bytes, 3 * 1000 * (128 * 2 * 2 + 4));
  EXPECT_EQ(plan.regions[1].copy_of, CallValue::A);
  EXPECT_EQ(plan.regions[2].bytes, 3 * 2000 * (128 * 2 * 2 + 4));
}

TEST(F16x3, SplitsLinesByAsManyThreadsAsKeepThem) {
  const auto split_of = [](const char* problem, const char* rest = "") {
    return f16x3(std::string(kUsual) + rest).plan(parse_problem(problem), kHopperSms).steps.front();
  };
  const Step small = split_of("1024x1024x1024:type=f32+fp32_f16x3");
  EXPECT_EQ(small.threads, 256);
  EXPECT_EQ(small.grid.x, 128 + 128);  // of a warp for each row of A, of 8 columns of B
  EXPECT_EQ(small.smem_bytes, 512);
  const Step medium = split_of("2048x2048x2048:type=f32+fp32_f16x3");
  EXPECT_EQ(medium.threads, 512);
  EXPECT_EQ(medium.grid.x, 256 + 256);  // of 64 threads for each row of A
  EXPECT_EQ(medium.smem_bytes, 512);
  const Step large = split_of("4096x4096x4096:type=f32+fp32_f16x3");
  EXPECT_EQ(large.grid.x, 1024 + 512);  // of 128 threads for each row of A
  EXPECT_EQ(large.smem_bytes, 512);
  const auto bytes_where_stored = [&](const char* problem) {  // what registers do not hold
    return split_of(problem, ",STORED=1").smem_bytes;
  };
  EXPECT_EQ(bytes_where_stored("2048x2048x2048:type=f32+fp32_f16x3"), 512);
  EXPECT_EQ(bytes_where_stored("4096x4096x4096:type=f32+fp32_f16x3"), 512 + 4 * 512 * 32);
  EXPECT_EQ(bytes_where_stored("4096x4096x8192:type=f32+fp32_f16x3"), 512 + 6 * 512 * 32);
}

TEST(F16x3, KeepsCopiesThatServeEveryConfigLayoutAndM) {
  const auto copy_of_b = [](const std::string& config, const char* problem) {
    const auto alone =
        f16x3(config).plan(parse_problem(problem), kHopperSms).that_makes(CallValue::B);
    EXPECT_TRUE(alone);
    return alone->workspace_bytes;
  };
  const std::int64_t bytes = 2000 * (128 * 2 * 2 + 4) + 8;
  EXPECT_EQ(copy_of_b(kUsual, "1000x2000x72:type=f32+fp32_f16x3"), bytes);
  EXPECT_EQ(copy_of_b("BM=64,BN=96,GROUPS=1,PROMOTE=32,TA=1,TB=1",
                      "7x2000x72:type=f32+fp32_f16x3:layout=tt"),
            bytes);
}

TEST(F16x3, SmallProductsBeginWhileTheSplitEnds) {
  const auto overlaps = [](const char* problem) {
    const LaunchPlan plan = f16x3(kUsual).plan(parse_problem(problem), kHopperSms);
    EXPECT_FALSE(plan.steps[0].overlaps);
    return plan.product().overlaps;
  };
  EXPECT_TRUE(overlaps("1024x1024x1024:type=f32+fp32_f16x3"));
  EXPECT_FALSE(overlaps("2048x2048x2048:type=f32+fp32_f16x3"));
  EXPECT_FALSE(overlaps("512x512x512:type=f32+fp32_f16x3:batch=64"));
}

TEST(F16x3, MapsHighAndLowPartsOfLinesAlongK) {
  const Problem problem = parse_problem("1000x2000x72:type=f32+fp32_f16x3:batch=3:layout=tt");
  const LaunchPlan plan =
      f16x3("BM=64,BN=96,GROUPS=1,PROMOTE=64,TA=1,TB=1").plan(problem, kHopperSms);
  const auto& maps = plan.product().arguments.tensor_maps();
  ASSERT_EQ(maps.size(), 2U);
  RegionAddresses regions = {};
  regions[2] = reinterpret_cast<void*>(std::uintptr_t{0x3000});
  const BoundTensorMap b = bound(maps[1], packed_call(problem), regions);
  EXPECT_EQ(b.address, 0x3000U);
  EXPECT_EQ(b.size, (std::array<std::int64_t, 5>{128, 2000, 6, 0, 0}));
  EXPECT_EQ(b.stride_bytes, (std::array<std::int64_t, 4>{256, 256 * 2000, 0, 0}));
  EXPECT_EQ(b.box, (std::array<std::int32_t, 5>{64, 96, 2, 0, 0}));
}

TEST(F16x3, PassesOperandsForAProductInFp32) {
  const Problem problem = parse_problem("1000x2000x72:type=f32+fp32_f16x3");
  GemmCall call = packed_call(problem);
  call.A = reinterpret_cast<const void*>(std::uintptr_t{0x1000});
  call.alpha = 2;
  wgmma_f16x3::Args args{};
  run_plan(
      f16x3(kUsual).plan(problem, kHopperSms), call,
      [](std::size_t i) { return reinterpret_cast<void*>(0x10000 * (i + 1)); }, [](auto&&...) {},
      [&](std::size_t, const Step& step, void** parameters) {
        if (step.entry == kProductEntry) {
          args = *static_cast<const wgmma_f16x3::Args*>(parameters[2]);
        }
      });
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(args.A), 0x1000U);
  EXPECT_EQ(args.lda, 72);
  EXPECT_EQ(args.alpha, 2);
  EXPECT_EQ(args.row_tiles, 8);
  EXPECT_EQ(args.col_tiles, 16);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(args.flags), 0x10000U);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(args.a.at), 0x20000U);
  EXPECT_EQ(args.a.kept, nullptr);
  EXPECT_EQ(args.a.factors_at, 1000 * 128 * 2 * 2);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(args.b.at), 0x30000U);
}

}  // namespace
}  // namespace gemm_tune
