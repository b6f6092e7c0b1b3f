// SPDX-License-Identifier: Apache-2.0
// wgmma's launches: tensor maps, grid, workspace.

#include <algorithm>
#include <string>

#include "core/launch/launch_plan.h"
#include "kernel_templates/registry/registry.h"
#include "kernel_templates/source/source.h"
#include "kernel_templates/wgmma/args.cuh"
#include "tests/kernel_templates/spaces.h"
#include "tests/matchers.h"

namespace gemm_tune {
namespace {

constexpr int kSms = 132;

KnownConfig wgmma(const std::string& rest) { return known("wgmma/AB=2," + rest); }

bool serves(const KnownConfig& config, const char* problem) {
  return why_illegal(config.recipe, parse_problem(problem)) == std::nullopt;
}

constexpr const char* kPingPong = "CD=2,BM=128,BN=192,GROUPS=2,PINGPONG=1,TA=0,TB=1";

// What the launch of the plan's product passes.
wgmma::Args passed(const LaunchPlan& plan, const GemmCall& call) {
  wgmma::Args args{};
  run_plan(
      plan, call, [](std::size_t i) { return reinterpret_cast<void*>(0x10000 * (i + 1)); },
      [](auto&&...) {},
      [&](std::size_t, const Step& step, void** parameters) {
        if (step.entry != kProductEntry) return;
        args = *static_cast<const wgmma::Args*>(parameters[3]);
      });
  return args;
}

TEST(Wgmma, MapsRowsOf128BytesOfOperandsAndBoxesOfD) {
  const Problem problem = parse_problem("1000x2000x72:type=bf16:layout=nt");
  const LaunchPlan plan = wgmma(kPingPong).plan(problem, kSms);
  const auto& maps = plan.product().arguments.tensor_maps();
  ASSERT_EQ(maps.size(), 3U);
  GemmCall call = packed_call(problem);
  call.A = reinterpret_cast<const void*>(0x1000);
  call.B = reinterpret_cast<const void*>(0x2000);
  call.lda = 80;
  const BoundTensorMap a = bound(maps[0], call, {}), b = bound(maps[1], call, {});
  EXPECT_EQ(a.address, 0x1000U);
  EXPECT_EQ(a.size, (std::array<std::int64_t, 5>{72, 1000, 1, 0, 0}));
  EXPECT_EQ(a.stride_bytes[0], 160);
  EXPECT_GT(a.stride_bytes[1], 0);  // of one matrix, for which a call has none
  EXPECT_EQ(a.box, (std::array<std::int32_t, 5>{64, 128, 1, 0, 0}));
  EXPECT_EQ(a.swizzle, Swizzle::bytes_128);
  EXPECT_EQ(a.promotion, L2Promotion::bytes_128);  // rows of 144 bytes
  EXPECT_EQ(b.size, (std::array<std::int64_t, 5>{72, 2000, 1, 0, 0}));
  EXPECT_EQ(b.box, (std::array<std::int32_t, 5>{64, 192, 1, 0, 0}));
  EXPECT_EQ(bound(maps[2], call, {}).address, 0U);  // the call has no D
}

TEST(Wgmma, SwappedOperandsChangePlaces) {
  const Problem problem = parse_problem("16x2000x72:type=bf16:layout=nn:batch=3");
  const KnownConfig config = wgmma("CD=0,BM=64,BN=16,GROUPS=1,PINGPONG=0,SWAP=1,TA=0,TB=0");
  EXPECT_EQ(config.recipe.tile_m, 16);
  EXPECT_EQ(config.recipe.tile_n, 64);
  const LaunchPlan plan = config.plan(problem, kSms);
  const auto& maps = plan.product().arguments.tensor_maps();
  ASSERT_EQ(maps.size(), 2U);  // D of f32 is stored by threads
  EXPECT_EQ(maps[0].address, CallValue::B);
  EXPECT_EQ(maps[1].address, CallValue::A);
  const BoundTensorMap b = [&] {
    GemmCall call = packed_call(problem);
    call.B = reinterpret_cast<const void*>(0x1000);
    return bound(maps[0], call, {});
  }();
  EXPECT_EQ(b.size, (std::array<std::int64_t, 5>{2000, 72, 3, 0, 0}));
  EXPECT_EQ(b.box, (std::array<std::int32_t, 5>{64, 64, 1, 0, 0}));
  EXPECT_EQ(b.stride_bytes[1], 2000 * 72 * 2);
  const wgmma::Args args = passed(plan, packed_call(problem));
  EXPECT_EQ(args.rows, 2000);
  EXPECT_EQ(args.cols, 16);
  EXPECT_EQ(args.tiles.rows, 32);
  EXPECT_EQ(args.tiles.matrices, 3);
}

TEST(Wgmma, CtasStayForSeveralTilesAndGroupsOfRowsAreAboutEqual) {
  const Problem problem = parse_problem("8192x8192x8192:type=bf16:layout=nt");
  const LaunchPlan plan = wgmma(kPingPong).plan(problem, kSms);
  EXPECT_EQ(plan.product().grid.x, 132);
  EXPECT_EQ(plan.workspace_bytes, 0);
  EXPECT_EQ(passed(plan, packed_call(problem)).tiles.group.value, 13);  // of 64 rows of tiles
  const Problem small = parse_problem("256x384x64:type=bf16:layout=nt");
  EXPECT_EQ(wgmma(kPingPong).plan(small, kSms).product().grid.x, 4);
}

TEST(Wgmma, ClustersLieAlongTheGridsY) {
  const KnownConfig config =
      wgmma("CD=2,BM=128,BN=128,GROUPS=2,PINGPONG=0,CLUSTER_M=2,SPLIT_K=2,TA=0,TB=1");
  const LaunchPlan plan = config.plan(parse_problem("512x128x4096:type=bf16:layout=nt"), kSms);
  EXPECT_EQ(plan.product().cluster.ctas(), 4);
  EXPECT_EQ(plan.product().grid.y, 4);
  EXPECT_EQ(plan.product().grid.x, 2);
  EXPECT_THAT(compile_definitions(config), testing::Contains("TUNED_CLUSTER=4"));
}

constexpr const char* kReducing = "CD=2,BM=128,BN=128,GROUPS=2,PINGPONG=0,REDUCE=1,TA=0,TB=1";

TEST(Wgmma, FewTilesOfADeepKAreCutIntoAsManyPartsAsThereAreSms) {
  const Problem problem = parse_problem("512x128x16384:type=bf16:layout=nt");  // 4 tiles
  const LaunchPlan plan = wgmma(kReducing).plan(problem, kSms);
  EXPECT_EQ(plan.product().grid.x, 132);
  EXPECT_EQ(plan.zeroed_bytes, 0);
  EXPECT_EQ(plan.workspace_bytes, kWorkspaceCounterBytes + 132LL * 128 * 128 * 4);
  const wgmma::Args args = passed(plan, packed_call(problem));
  EXPECT_EQ(args.cut_tiles, 4);
  EXPECT_EQ(args.parts, 33);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(args.partials), 0x10000U);
  ASSERT_EQ(plan.steps.size(), 2U);
  EXPECT_TRUE(plan.steps[1].overlaps);
  EXPECT_EQ(plan.steps[1].entry, "reduce");
  EXPECT_EQ(plan.steps[1].grid, (Grid{32, 4, 1}));  // 512 elements of a CTA
}

TEST(Wgmma, LaunchesOverlapWhereTheL2sHalvesHoldAllOperands) {
  const auto overlaps = [](const char* problem) {
    return wgmma(kReducing).plan(parse_problem(problem), kSms).product().overlaps;
  };
  EXPECT_TRUE(overlaps("1024x1024x1024:type=bf16:layout=nt"));
  EXPECT_TRUE(overlaps("3072x768x2048:type=bf16:layout=nt"));
  EXPECT_FALSE(overlaps("2048x2048x2048:type=bf16:layout=nt"));
  EXPECT_FALSE(overlaps("256x4096x14336:type=bf16:layout=nt"));
}

TEST(Wgmma, AnOperandThatPassesTheL2ByIsEvictedFirst) {
  const auto args = [](const char* text, const char* config) {
    const Problem problem = parse_problem(text);
    return passed(wgmma(config).plan(problem, kSms), packed_call(problem));
  };
  const wgmma::Args large_b = args("256x4096x14336:type=bf16:layout=nt", kPingPong);
  EXPECT_EQ(large_b.left_hint, wgmma::kEvictNormally);
  EXPECT_EQ(large_b.right_hint, wgmma::kEvictFirst);
  const wgmma::Args swapped = args("256x4096x14336:type=bf16:layout=nt",
                                   "CD=2,BM=128,BN=64,GROUPS=1,PINGPONG=0,SWAP=1,TA=0,TB=1");
  EXPECT_EQ(swapped.left_hint, wgmma::kEvictFirst);
  EXPECT_EQ(swapped.right_hint, wgmma::kEvictNormally);
  const wgmma::Args square = args("8192x8192x8192:type=bf16:layout=nt", kPingPong);
  EXPECT_EQ(square.left_hint, wgmma::kEvictNormally);
  EXPECT_EQ(square.right_hint, wgmma::kEvictNormally);
  const wgmma::Args kept = args("64x4096x4096:type=bf16:layout=nt", kPingPong);  // B: 33.6 MB
  EXPECT_EQ(kept.right_hint, wgmma::kEvictNormally);
}

TEST(Wgmma, TilesOfARaggedWaveAreCutAndWholeWavesStayWhole) {
  const Problem ragged = parse_problem("3072x768x2048:type=bf16:layout=nt");  // 144 tiles
  const LaunchPlan plan = wgmma(kReducing).plan(ragged, kSms);
  EXPECT_EQ(plan.product().grid.x, 132);
  EXPECT_EQ(passed(plan, packed_call(ragged)).cut_tiles, 12);
  EXPECT_EQ(passed(plan, packed_call(ragged)).parts, 11);
  for (const char* whole : {"1408x1536x2048", "2304x1536x2048", "512x128x128"}) {
    const Problem problem = parse_problem(std::string(whole) + ":type=bf16:layout=nt");
    const LaunchPlan alone = wgmma(kReducing).plan(problem, kSms);
    EXPECT_EQ(alone.steps.size(), 1U) << whole;
    EXPECT_EQ(alone.workspace_bytes, 0) << whole;
    EXPECT_EQ(passed(alone, packed_call(problem)).cut_tiles, 0) << whole;
  }
}

TEST(Wgmma, CopiesOperandsBesideAnyAlignmentOfD) {
  const KnownConfig config =
      wgmma("CD=2,BM=64,BN=64,GROUPS=1,PINGPONG=0,REPACK=1,DIRECT=1,TA=0,TB=0");
  const Problem odd = parse_problem("101x203x333:type=bf16");
  EXPECT_EQ(why_illegal(config.recipe, odd), std::nullopt);
  EXPECT_EQ(config.plan(odd, kSms).steps.size(), 2U);
  const Problem d_alone = parse_problem("101x203x336:type=bf16:layout=nt");
  EXPECT_EQ(why_illegal(config.recipe, parse_problem("101x203x336:type=bf16")), std::nullopt);
  const KnownConfig nt = wgmma("CD=2,BM=64,BN=64,GROUPS=1,PINGPONG=0,REPACK=1,DIRECT=1,TA=0,TB=1");
  EXPECT_EQ(nt.plan(d_alone, kSms).steps.size(), 1U);  // nothing to copy
}

// Tensor maps read the rows that CTAs of a cluster deal out, however many.
TEST(Wgmma, CtasOfAClusterDealOutAnyRowsOfATile) {
  const LaunchPlan plan =
      wgmma("CD=2,BM=128,BN=72,GROUPS=1,PINGPONG=0,CLUSTER_M=4,CLUSTER_N=2,TA=0,TB=1")
          .plan(parse_problem("1024x1152x512:type=bf16:layout=nt"), kSms);
  const auto& maps = plan.product().arguments.tensor_maps();
  EXPECT_EQ(maps[0].map.box[1], 64);
  EXPECT_EQ(maps[1].map.box[1], 18);
  EXPECT_EQ(plan.product().cluster.ctas(), 8);
  EXPECT_EQ(plan.product().grid.x, 15);  // of 16 clusters, as many as run at once
}

TEST(Wgmma, AnOperandThatTmaCannotAddressIsCopiedToAlignedRows) {
  const KnownConfig config = wgmma("CD=2,BM=64,BN=64,GROUPS=1,PINGPONG=0,REPACK=1,TA=0,TB=1");
  const Problem problem = parse_problem("100x200x333:type=bf16:layout=nt:align=16/2/16/16");
  EXPECT_EQ(why_illegal(config.recipe, problem), std::nullopt);
  const LaunchPlan plan = config.plan(problem, kSms);
  ASSERT_EQ(plan.steps.size(), 2U);
  EXPECT_EQ(plan.steps[0].entry, "repack");
  ASSERT_EQ(plan.regions.size(), 1U);
  EXPECT_EQ(plan.regions[0].copy_of, CallValue::B);
  const auto& maps = plan.product().arguments.tensor_maps();
  EXPECT_EQ(maps[0].address, CallValue::A);
  EXPECT_EQ(maps[1].address, region(0));
  RegionAddresses regions = {reinterpret_cast<void*>(0x4000)};
  const BoundTensorMap b = bound(maps[1], packed_call(problem), regions);
  EXPECT_EQ(b.address, 0x4000U);
  EXPECT_EQ(b.stride_bytes[0], 384 * 2);  // whole lines of the L2
  EXPECT_EQ(b.size[0], 333);              // zeros behind
  EXPECT_NE(why_illegal(config.recipe, parse_problem("100x201x336:type=bf16:layout=nt")),
            std::nullopt);  // D's rows
}

TEST(Wgmma, IsForHopperAndAlignedOperandsOnly) {
  const KnownConfig config = wgmma(kPingPong);
  EXPECT_EQ(compile_target(config, "sm_90"), "sm_90a");
  EXPECT_FALSE(has_instructions(config.traits, 100));
  EXPECT_FALSE(config.is_exportable());
  EXPECT_TRUE(serves(config, "33x40x72:type=bf16:layout=nt"));
  EXPECT_FALSE(serves(config, "33x41x72:type=bf16:layout=nt"));
  EXPECT_EQ(served_variants(config).size(), 1U);
}

const KernelFamily& family() { return *find_family("wgmma"); }

TEST(Wgmma, ThreadsStoreRowsOfDThatTheCopyEngineCannotAddress) {
  const KnownConfig config = wgmma("CD=2,BM=128,BN=128,GROUPS=2,PINGPONG=1,DIRECT=1,TA=0,TB=1");
  const char* const problem = "64x50257x768:type=bf16:layout=nt:align=16/16/2/2";
  EXPECT_TRUE(serves(config, problem));
  EXPECT_FALSE(serves(config, "64x50257x767:type=bf16:layout=nt:align=2/2/2/2"));  // rows of A, B
  EXPECT_EQ(config.plan(parse_problem(problem), kSms).product().arguments.tensor_maps().size(), 2U);
  // No room is taken by a buffer that nothing is stored through.
  EXPECT_GT(config.traits.stages,
            wgmma("CD=2,BM=128,BN=128,GROUPS=2,PINGPONG=1,TA=0,TB=1").traits.stages);
}

TEST(Wgmma, ServesOneAccuracyClassOfEachType) {
  EXPECT_TRUE(family().supports(parse_signature("f32+tf32")));
  EXPECT_FALSE(family().supports(Signature()));
  EXPECT_FALSE(family().supports(parse_signature("f32+fp32_f16x3")));
  EXPECT_TRUE(family().supports(parse_signature("bf16")));
  EXPECT_TRUE(family().supports(parse_signature("e4m3/e4m3/bf16/bf16")));
  EXPECT_TRUE(family().supports(parse_signature("e4m3/e4m3/f16/f16")));
  EXPECT_TRUE(family().supports(parse_signature("e4m3/e4m3/f32/f32")));
  EXPECT_FALSE(family().supports(parse_signature("e4m3")));
  EXPECT_FALSE(family().supports(parse_signature("f16/f16/f16/f16+sums_fp16")));
}

constexpr const char* kOfTf32 = "wgmma/AB=0,CD=0,BM=128,BN=128,GROUPS=2,PINGPONG=1,TA=0,TB=0";

TEST(Wgmma, RoundsAndPacksOperandsOfF32InALaunchBefore) {
  const KnownConfig config = known(kOfTf32);
  const Problem problem = parse_problem("1000x2001x70:type=f32+tf32:batch=3:align=4");
  EXPECT_EQ(why_illegal(config.recipe, problem), std::nullopt);
  EXPECT_THAT(compile_definitions(config), testing::Contains("TUNED_PACK"));
  const LaunchPlan plan = config.plan(problem, kSms);
  ASSERT_EQ(plan.steps.size(), 2U);
  EXPECT_EQ(plan.steps[0].entry, "pack");
  EXPECT_TRUE(plan.steps[0].only_with_operands);
  // Eight lines of a matrix to a CTA, up to 128 chunks of each.
  EXPECT_EQ(plan.steps[0].grid, (Grid{3 * (125 + 251), 1, 1}));
  ASSERT_EQ(plan.regions.size(), 2U);
  EXPECT_EQ(plan.regions[0].copy_of, CallValue::A);
  EXPECT_EQ(plan.regions[0].bytes, 3 * 1000 * 18 * 16);
  EXPECT_EQ(plan.regions[1].bytes, 3 * 2001 * 18 * 16);
  const auto& maps = plan.product().arguments.tensor_maps();
  ASSERT_EQ(maps.size(), 2U);
  const RegionAddresses regions = {reinterpret_cast<void*>(0x4000),
                                   reinterpret_cast<void*>(0x8000)};
  const BoundTensorMap b = bound(maps[1], packed_call(problem), regions);
  EXPECT_EQ(b.address, 0x8000U);
  EXPECT_EQ(b.size, (std::array<std::int64_t, 5>{70, 2001, 3, 0, 0}));
  EXPECT_EQ(b.stride_bytes[0], 18 * 16);
  EXPECT_EQ(b.stride_bytes[1], 2001 * 18 * 16);
  EXPECT_EQ(b.box, (std::array<std::int32_t, 5>{32, 128, 1, 0, 0}));
  EXPECT_EQ(b.element, TensorElement::bits_32);
}

TEST(Wgmma, IsTheDefaultOfTf32ForAnyShapeAndAlignment) {
  const auto values = family().untuned(parse_signature("f32+tf32"), 90);
  ASSERT_TRUE(values);
  const KnownConfig config = known_config(family(), *values);
  EXPECT_EQ(to_string(config.config()), kOfTf32);
  EXPECT_EQ(why_illegal(config.recipe, parse_problem("33x41x71:type=f32+tf32:align=4")),
            std::nullopt);
  EXPECT_FALSE(family().untuned(Signature(), 90));
  EXPECT_FALSE(family().untuned(parse_signature("f32+tf32"), 100));
}

TEST(Wgmma, OperandsOfF32AreNotCopiedTwice) {
  EXPECT_FALSE(family().reject(values_in(family(), parse_config(kOfTf32))));
  EXPECT_TRUE(
      family().reject(values_in(family(), parse_config(std::string(kOfTf32) + ",REPACK=1"))));
}

TEST(Wgmma, MapsE4m3AsItLiesWhereRowsRunAlongK) {
  const KnownConfig config = known("wgmma/AB=3,CD=2,BM=128,BN=192,GROUPS=2,PINGPONG=0,TA=0,TB=1");
  const Problem problem = parse_problem("1000x2000x80:type=e4m3/e4m3/bf16/bf16:layout=nt");
  EXPECT_EQ(why_illegal(config.recipe, problem), std::nullopt);
  EXPECT_FALSE(serves(config, "1000x2000x72:type=e4m3/e4m3/bf16/bf16:layout=nt"));  // 72 bytes
  EXPECT_EQ(config.recipe.tile_k, 128);
  const LaunchPlan plan = config.plan(problem, kSms);
  EXPECT_EQ(plan.steps.size(), 1U);
  const auto& maps = plan.product().arguments.tensor_maps();
  ASSERT_EQ(maps.size(), 3U);
  GemmCall call = packed_call(problem);
  call.B = reinterpret_cast<const void*>(0x1000);
  const BoundTensorMap b = bound(maps[1], call, {});
  EXPECT_EQ(b.box, (std::array<std::int32_t, 5>{128, 192, 1, 0, 0}));
  EXPECT_EQ(b.stride_bytes[0], 80);
  EXPECT_EQ(b.element, TensorElement::bits_8);
}

TEST(Wgmma, PacksE4m3WhereRowsRunAcrossKOrAreUnaligned) {
  const auto entries = [](const char* rest, const char* rest_of_problem) {
    const KnownConfig config =
        known(std::string("wgmma/AB=3,CD=0,BM=64,BN=64,GROUPS=1,PINGPONG=0,") + rest);
    const Problem problem =
        parse_problem(std::string("100x201x333:type=e4m3/e4m3/f32/f32:") + rest_of_problem);
    EXPECT_EQ(why_illegal(config.recipe, problem), std::nullopt);
    std::vector<std::string> names;
    for (const Step& step : config.plan(problem, kSms).steps) names.emplace_back(step.entry);
    return names;
  };
  const std::vector<std::string> kBoth = {"pack", "gemm"};
  EXPECT_EQ(entries("TA=0,TB=0", "align=1/1/4/4"), kBoth);
  EXPECT_EQ(entries("TA=1,TB=1", "layout=tt:align=1/1/4/4"), kBoth);
  EXPECT_EQ(entries("REPACK=1,TA=0,TB=1", "layout=nt:align=1/1/4/4"), kBoth);
}

TEST(Wgmma, PromotesSumsOfE4m3OnlyAndAtLeastEvery128K) {
  const auto is_legal = [](const char* text) {
    return !family().reject(values_in(family(), parse_config(text)));
  };
  EXPECT_TRUE(is_legal("wgmma/AB=3,CD=2,BM=64,BN=64,GROUPS=1,PINGPONG=0,PROMOTE=32,TA=0,TB=1"));
  EXPECT_FALSE(is_legal("wgmma/AB=3,CD=2,BM=64,BN=64,GROUPS=1,PINGPONG=0,PROMOTE=256,TA=0,TB=1"));
  EXPECT_FALSE(is_legal("wgmma/AB=2,CD=2,BM=64,BN=64,GROUPS=1,PINGPONG=0,PROMOTE=32,TA=0,TB=1"));
  // Twice as many sums: no room for two whole tiles of 128 x 128.
  EXPECT_FALSE(is_legal("wgmma/AB=3,CD=2,BM=128,BN=128,GROUPS=2,PINGPONG=1,TA=0,TB=1"));
  EXPECT_TRUE(is_legal("wgmma/AB=3,CD=2,BM=128,BN=192,GROUPS=2,PINGPONG=0,TA=0,TB=1"));
}

TEST(Wgmma, HasSharesOfACtaWhereASecondSetOfSumsFits) {
  const auto is_legal = [](const std::string& tile, const std::string& rest) {
    const std::string text = "wgmma/AB=2,CD=2," + tile + "," + rest + "TA=0,TB=1";
    return !family().reject(values_in(family(), parse_config(text)));
  };
  EXPECT_TRUE(is_legal("BM=128,BN=128,GROUPS=2,PINGPONG=0", "K_SHARES=2,"));
  EXPECT_TRUE(is_legal("BM=128,BN=192,GROUPS=2,PINGPONG=0", "K_SHARES=4,"));
  EXPECT_TRUE(is_legal("BM=128,BN=96,GROUPS=2,PINGPONG=1", "K_SHARES=2,"));
  EXPECT_FALSE(is_legal("BM=128,BN=128,GROUPS=2,PINGPONG=1", "K_SHARES=2,"));
  EXPECT_FALSE(is_legal("BM=128,BN=256,GROUPS=2,PINGPONG=0", "K_SHARES=2,"));
  EXPECT_FALSE(is_legal("BM=192,BN=128,GROUPS=3,PINGPONG=0", "K_SHARES=2,"));
  const std::string small = "BM=64,BN=64,GROUPS=1,PINGPONG=0";
  EXPECT_FALSE(is_legal(small, "K_SHARES=3,"));
  EXPECT_FALSE(is_legal(small, "REDUCE=1,K_SHARES=2,"));
  // A cluster's two shares are in order as they are.
  EXPECT_TRUE(is_legal(small, "SPLIT_K=4,K_SHARES=4,"));
  EXPECT_FALSE(is_legal(small, "SPLIT_K=2,K_SHARES=2,"));
  EXPECT_FALSE(is_legal(small, "SPLIT_K=2,K_SHARES=4,"));
  EXPECT_FALSE(family().reject(values_in(
                   family(), parse_config("wgmma/AB=3,CD=2," + small + ",K_SHARES=2,TA=0,TB=1"))) ==
               std::nullopt);
}

}  // namespace
}  // namespace gemm_tune
