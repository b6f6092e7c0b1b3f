// SPDX-License-Identifier: Apache-2.0
// wgmma_parts: the problems that it serves, its launches, what lies in its workspace.

#include <cstdint>
#include <utility>

#include "core/launch/launch_plan.h"
#include "kernel_templates/device/parts/args.cuh"
#include "kernel_templates/registry/registry.h"
#include "tests/kernel_templates/spaces.h"
#include "tests/matchers.h"

namespace gemm_tune {
namespace {

constexpr int kHopperSms = 132;
constexpr int kLineBytes = 4;  // a factor

// What lines that lose numbers are told by.
constexpr std::int64_t list_bytes(int lines) { return 4 * (lines / 64 + 8); }

KnownConfig with_parts(const std::string& rest) { return known("wgmma_parts/" + rest); }

constexpr const char* kUsual = "BM=128,BN=128,GROUPS=2,PROMOTE=64,TA=0,TB=0";

constexpr const char* kOfBf16 = "BM=128,BN=128,GROUPS=2,PROMOTE=64,TA=0,TB=0,ACCURACY=4";

TEST(Parts, ServesItsAccuracyClassesAndNoOther) {
  const KernelFamily& family = *find_family("wgmma_parts");
  EXPECT_TRUE(family.supports(parse_signature("f32+fp32_f16x3")));
  EXPECT_TRUE(family.supports(parse_signature("f32+fp32_bf16x6")));
  EXPECT_FALSE(family.supports(parse_signature("f32")));
  EXPECT_FALSE(family.supports(parse_signature("f32+tf32")));
  EXPECT_FALSE(find_family("warp_tiled")->supports(parse_signature("f32+fp32_f16x3")));
  EXPECT_TRUE(legal_for(with_parts(kUsual), parse_problem("33x41x7:type=f32+fp32_f16x3")));
  EXPECT_FALSE(legal_for(with_parts(kUsual), parse_problem("33x41x7")));
  EXPECT_FALSE(legal_for(with_parts(kUsual), parse_problem("33x41x7:type=f32+bf16x6")));
  EXPECT_TRUE(legal_for(with_parts(kOfBf16), parse_problem("33x41x7:type=f32+bf16x6")));
  // fp32 satisfies every class of its operands.
  EXPECT_TRUE(legal_for(known("naive/BM=16,BN=16,COALESCED=1,PRED=1"),
                        parse_problem("33x41x7:type=f32+fp32_f16x3")));
}

constexpr const char* kOfTwoTypes =
    "BM=128,BN=128,GROUPS=2,PROMOTE=64,TA=0,TB=1,ACCURACY=4,TYPE_B=2";

TEST(Parts, ServesOneOperandOfThePartsType) {
  const KernelFamily& family = *find_family("wgmma_parts");
  for (const char* types : {"f32/bf16/f32/f32+bf16x6", "bf16/f32/f32/f32+bf16x6",
                            "f32/f16/f32/f32+fp32_f16x3", "f16/f32/f32/f32+fp32_f16x3"}) {
    EXPECT_TRUE(family.supports(parse_signature(types))) << types;
  }
  for (const char* types : {"f32/f16/f32/f32+bf16x6", "f32/bf16/f32/f32+fp32_f16x3",
                            "f32/bf16/f32/f32", "f32/bf16/bf16/bf16+bf16x6"}) {
    EXPECT_FALSE(family.supports(parse_signature(types))) << types;
  }
  const KnownConfig config = with_parts(kOfTwoTypes);
  EXPECT_TRUE(legal_for(config, parse_problem("33x41x7:type=f32/bf16/f32/f32+bf16x6:layout=nt")));
  EXPECT_FALSE(legal_for(config, parse_problem("33x41x7:type=f32+bf16x6:layout=nt")));
  EXPECT_FALSE(
      legal_for(with_parts(kOfBf16), parse_problem("33x41x7:type=f32/bf16/f32/f32+bf16x6")));
}

TEST(Parts, OfTwoTypesReadTheOneOf16BitsInPlace) {
  const Problem problem =
      parse_problem("1000x2000x72:type=f32/bf16/f32/f32+bf16x6:layout=nt:batch=3");
  const KnownConfig config = with_parts(kOfTwoTypes);
  EXPECT_EQ(config.traits.stages, 3);  // of 3 parts of A and one of B
  const LaunchPlan plan = config.plan(problem, kHopperSms);
  ASSERT_EQ(plan.steps.size(), 3U);  // for A, whether or not somebody keeps B
  EXPECT_EQ(plan.steps[0].makes, Copies::of_both);
  EXPECT_EQ(plan.steps[1].makes, Copies::of_a);
  EXPECT_EQ(plan.steps[0].grid, (Grid{3 * 125}));
  ASSERT_EQ(plan.regions.size(), 2U);
  EXPECT_EQ(plan.regions[1].copy_of, CallValue::A);
  EXPECT_TRUE(plan.that_makes(CallValue::A));
  EXPECT_FALSE(plan.that_makes(CallValue::B));
  GemmCall call = packed_call(problem);
  call.B = reinterpret_cast<const void*>(std::uintptr_t{0x5000});
  const auto& maps = plan.product().arguments.tensor_maps();
  const BoundTensorMap b = bound(maps[1], call, {});
  EXPECT_EQ(b.address, 0x5000U);
  EXPECT_EQ(b.size, (std::array<std::int64_t, 5>{72, 2000, 3, 0, 0}));
  EXPECT_EQ(b.stride_bytes, (std::array<std::int64_t, 4>{144, 144 * 2000, 0, 0}));
  EXPECT_EQ(b.box, (std::array<std::int32_t, 5>{64, 128, 1, 0, 0}));
}

TEST(Parts, OfTwoTypesReadRowsAcrossInBlocks) {
  const KnownConfig config =
      with_parts("BM=128,BN=144,GROUPS=2,PROMOTE=64,TA=0,TB=0,ACCURACY=4,TYPE_B=2");
  EXPECT_EQ(config.traits.stages, 3);
  const LaunchPlan plan =
      config.plan(parse_problem("1000x2000x72:type=f32/bf16/f32/f32+bf16x6"), kHopperSms);
  const BoundTensorMap& b = plan.product().arguments.tensor_maps()[1].map;
  EXPECT_EQ(b.size, (std::array<std::int64_t, 5>{2000, 72, 1, 0, 0}));
  EXPECT_EQ(b.box, (std::array<std::int32_t, 5>{64, 64, 1, 0, 0}));
}

TEST(Parts, OfTwoTypesCopyRowsThatAreNotAligned) {
  const Problem problem = parse_problem("1000x2000x68:type=f32/bf16/f32/f32+bf16x6:layout=nt");
  const LaunchPlan plan = with_parts(kOfTwoTypes).plan(problem, kHopperSms);
  ASSERT_EQ(plan.steps.size(), 4U);
  // 8 rows of A a CTA; 2,000 rows of 9 chunks, of which a CTA of 256 threads copies 1,024.
  EXPECT_EQ(plan.steps[0].grid, (Grid{125 + 18}));
  EXPECT_EQ(plan.steps[1].grid, (Grid{125}));
  EXPECT_EQ(plan.steps[2].makes, Copies::of_b);
  EXPECT_EQ(plan.steps[2].grid, (Grid{18}));
  ASSERT_EQ(plan.regions.size(), 3U);
  EXPECT_EQ(plan.regions[2].bytes, 2000 * 72 * 2);
  EXPECT_FALSE(plan.regions[2].may_be_kept);
  EXPECT_FALSE(plan.that_makes(CallValue::B));
  RegionAddresses regions = {};
  regions[2] = reinterpret_cast<void*>(std::uintptr_t{0x3000});
  const BoundTensorMap b =
      bound(plan.product().arguments.tensor_maps()[1], packed_call(problem), regions);
  EXPECT_EQ(b.address, 0x3000U);
  EXPECT_EQ(b.size, (std::array<std::int64_t, 5>{68, 2000, 1, 0, 0}));
  EXPECT_EQ(b.stride_bytes, (std::array<std::int64_t, 4>{144, 144 * 2000, 0, 0}));
}

TEST(Parts, ServesEveryAlignmentOnHopper) {
  const KnownConfig config = with_parts(kUsual);
  EXPECT_EQ(why_illegal(config.recipe, parse_problem("33x41x7:type=f32+fp32_f16x3:batch=3")),
            std::nullopt);
  EXPECT_TRUE(has_instructions(config.traits, 90));
  EXPECT_FALSE(has_instructions(config.traits, 100));
  EXPECT_FALSE(config.is_exportable());
}

TEST(Parts, SplitsOperandsBeforeTheProduct) {
  const Problem problem = parse_problem("1000x2000x72:type=f32+fp32_f16x3:batch=3");
  const LaunchPlan plan = with_parts(kUsual).plan(problem, kHopperSms);
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
  EXPECT_EQ(plan.zeroed_bytes, 16);
  EXPECT_EQ(plan.regions[1].bytes, 3 * 1000 * (128 * 2 * 2 + kLineBytes) + list_bytes(3000));
  EXPECT_EQ(plan.regions[1].copy_of, CallValue::A);
  EXPECT_EQ(plan.regions[2].bytes, 3 * 2000 * (128 * 2 * 2 + kLineBytes) + list_bytes(6000));
}

TEST(Parts, SplitsLinesByAsManyThreadsAsKeepThem) {
  const auto split_of = [](const char* problem, const char* config = kUsual) {
    return with_parts(config).plan(parse_problem(problem), kHopperSms).steps.front();
  };
  const Step small = split_of("1024x1024x1024:type=f32+fp32_f16x3");
  EXPECT_EQ(small.entry, "split");
  EXPECT_EQ(small.threads, 256);
  EXPECT_EQ(small.grid, (Grid{128 + 128}));  // of a warp for each row of A, of 8 columns of B
  EXPECT_EQ(small.smem_bytes, 512);
  constexpr const char* kAlongK = "BM=128,BN=128,GROUPS=2,PROMOTE=64,TA=0,TB=1";
  const Step along = split_of("2048x2048x2048:type=f32+fp32_f16x3:layout=nt", kAlongK);
  EXPECT_EQ(along.entry, "split");
  EXPECT_EQ(along.threads, 512);
  EXPECT_EQ(along.cluster.ctas(), 1);
  EXPECT_EQ(along.grid, (Grid{256 + 256}));  // of 64 threads for each line
}

TEST(Parts, SplitsLongLinesAcrossRowsInClusters) {
  const auto split_of = [](const char* problem) {
    const Step step = with_parts(kUsual).plan(parse_problem(problem), kHopperSms).steps.front();
    EXPECT_EQ(step.entry, "split_in_clusters") << problem;
    EXPECT_EQ(step.cluster.ctas(), 8) << problem;
    EXPECT_EQ(step.grid.y, 8) << problem;
    EXPECT_EQ(step.smem_bytes, 19 * 32 * 4) << problem;
    return step;
  };
  // As many threads as keep the lines; 32 columns of B a cluster.
  const Step short_lines = split_of("1536x1536x1536:type=f32+fp32_f16x3");
  EXPECT_EQ(short_lines.threads, 192);
  EXPECT_EQ(short_lines.grid.x, 64 + 48);  // 3 rows of A a CTA
  const Step medium = split_of("2048x2048x2048:type=f32+fp32_f16x3");
  EXPECT_EQ(medium.threads, 256);
  EXPECT_EQ(medium.grid.x, 64 + 64);
  EXPECT_EQ(split_of("4096x4096x4096:type=f32+fp32_f16x3").threads, 512);
  EXPECT_EQ(split_of("8192x8192x8192:type=f32+fp32_f16x3").threads, 512);
  const LaunchPlan plan =
      with_parts(kUsual).plan(parse_problem("4096x4096x4096:type=f32+fp32_f16x3"), kHopperSms);
  EXPECT_EQ(plan.steps[1].makes, Copies::of_a);  // whose lines lie along K
  EXPECT_EQ(plan.steps[1].entry, "split");
  EXPECT_EQ(plan.steps[2].entry, "split_in_clusters");
}

TEST(Parts, KeepsCopiesThatServeEveryConfigLayoutAndM) {
  const auto copy_of_b = [](const std::string& config, const char* problem) {
    const auto alone =
        with_parts(config).plan(parse_problem(problem), kHopperSms).that_makes(CallValue::B);
    EXPECT_TRUE(alone);
    return alone->workspace_bytes;
  };
  const std::int64_t bytes = 2000 * (128 * 2 * 2 + kLineBytes) + list_bytes(2000) + 16;
  EXPECT_EQ(copy_of_b(kUsual, "1000x2000x72:type=f32+fp32_f16x3"), bytes);
  EXPECT_EQ(copy_of_b("BM=64,BN=96,GROUPS=1,PROMOTE=32,TA=1,TB=1",
                      "7x2000x72:type=f32+fp32_f16x3:layout=tt"),
            bytes);
}

TEST(Parts, SmallProductsBeginWhileTheSplitEnds) {
  const auto overlaps = [](const char* problem) {
    const LaunchPlan plan = with_parts(kUsual).plan(parse_problem(problem), kHopperSms);
    EXPECT_FALSE(plan.steps[0].overlaps);
    return plan.product().overlaps;
  };
  EXPECT_TRUE(overlaps("1024x1024x1024:type=f32+fp32_f16x3"));
  EXPECT_FALSE(overlaps("2048x2048x2048:type=f32+fp32_f16x3"));
  EXPECT_FALSE(overlaps("512x512x512:type=f32+fp32_f16x3:batch=64"));
}

TEST(Parts, MapsHighAndLowPartsOfLinesAlongK) {
  const Problem problem = parse_problem("1000x2000x72:type=f32+fp32_f16x3:batch=3:layout=tt");
  const LaunchPlan plan =
      with_parts("BM=64,BN=96,GROUPS=1,PROMOTE=64,TA=1,TB=1").plan(problem, kHopperSms);
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

TEST(Parts, OfBf16AreThreeOfEachOperand) {
  const Problem problem = parse_problem("1000x2000x72:type=f32+bf16x6:batch=3");
  const KnownConfig config = with_parts(kOfBf16);
  const LaunchPlan plan = config.plan(problem, kHopperSms);
  EXPECT_EQ(plan.regions[1].bytes, 3 * 1000 * (128 * 3 * 2 + 4));
  EXPECT_EQ(plan.steps[0].entry, "split");
  EXPECT_EQ(plan.steps[0].grid, (Grid{3 * (250 + 63)}));  // 4 rows of A a CTA, 32 columns of B
  const Step deep =
      config.plan(parse_problem("1000x2000x4096:type=f32+bf16x6"), kHopperSms).steps[0];
  EXPECT_EQ(deep.cluster.ctas(), 1);
  EXPECT_EQ(deep.grid, (Grid{32 + 63, 8}));  // 4 rows of A a CTA, 512 k of 32 columns of B
  EXPECT_EQ(config.traits.stages, 2);
  RegionAddresses regions = {};
  regions[2] = reinterpret_cast<void*>(std::uintptr_t{0x3000});
  const BoundTensorMap b =
      bound(plan.product().arguments.tensor_maps()[1], packed_call(problem), regions);
  EXPECT_EQ(b.size, (std::array<std::int64_t, 5>{128, 2000, 9, 0, 0}));
  EXPECT_EQ(b.box, (std::array<std::int32_t, 5>{64, 128, 3, 0, 0}));
}

TEST(Parts, AreUntunedConfigsOfTheClassThatIsAsked) {
  const KernelFamily& family = *find_family("wgmma_parts");
  const auto untuned = [&](const char* signature, int sm) {
    const auto values = family.untuned(parse_signature(signature), sm);
    return values ? to_string(family.config(*values)) : "";
  };
  EXPECT_EQ(untuned("f32+fp32_f16x3", 90), "wgmma_parts/" + std::string(kUsual));
  EXPECT_EQ(untuned("f32+fp32_bf16x6", 90), "wgmma_parts/" + std::string(kOfBf16));
  EXPECT_EQ(untuned("f32/bf16/f32/f32+bf16x6", 90),
            "wgmma_parts/" + std::string(kOfBf16) + ",TYPE_B=2");
  EXPECT_EQ(untuned("f32/f16/f32/f32+bf16x6", 90), "");
  EXPECT_EQ(untuned("f32+tf32", 90), "");
  EXPECT_EQ(untuned("f32+fp32_bf16x6", 80), "");
}

TEST(Parts, PassesOperandsForAProductInFp32) {
  const Problem problem = parse_problem("1000x2000x72:type=f32+fp32_f16x3");
  GemmCall call = packed_call(problem);
  call.A = reinterpret_cast<const void*>(std::uintptr_t{0x1000});
  call.alpha = 2;
  parts::Args args{};
  run_plan(
      with_parts(kUsual).plan(problem, kHopperSms), call,
      [](std::size_t i) { return reinterpret_cast<void*>(0x10000 * (i + 1)); }, [](auto&&...) {},
      [&](std::size_t, const Step& step, void** parameters) {
        if (step.entry == kProductEntry) {
          args = *static_cast<const parts::Args*>(parameters[2]);
        }
      });
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(args.A), 0x1000U);
  EXPECT_EQ(args.lda, 72);
  EXPECT_EQ(args.alpha, 2);
  EXPECT_EQ(args.tiles.rows, 8);
  EXPECT_EQ(args.tiles.cols, 16);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(args.flags), 0x10000U);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(args.a.at), 0x20000U);
  EXPECT_EQ(args.a.kept, nullptr);
  EXPECT_EQ(args.a.factors_at, 1000 * 128 * 2 * 2);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(args.b.at), 0x30000U);
}

}  // namespace
}  // namespace gemm_tune
