// SPDX-License-Identifier: Apache-2.0
// mma_parts: the problems and architectures that it serves, its launches, what lies in its
// workspace.

#include <cstdint>

#include "core/launch/launch_plan.h"
#include "kernel_templates/device/parts/args.cuh"
#include "kernel_templates/registry/registry.h"
#include "tests/kernel_templates/spaces.h"
#include "tests/matchers.h"

namespace gemm_tune {
namespace {

constexpr int kAmpereSms = 108;
constexpr const char* kOfAmpere = "BM=128,BN=64,BK=32,WM=64,WN=32,MMA_K=16,STAGES=3,TA=0,TB=0";
constexpr const char* kOfTuring = "BM=64,BN=64,BK=32,WM=32,WN=32,MMA_K=8,STAGES=2,TA=0,TB=0";

KnownConfig by_mma(const std::string& rest) { return known("mma_parts/" + rest); }

TEST(MmaParts, ServesItsAccuracyClassesAndNoOther) {
  const KernelFamily& family = *find_family("mma_parts");
  EXPECT_TRUE(family.supports(parse_signature("f32+fp32_f16x3")));
  EXPECT_TRUE(family.supports(parse_signature("f32+fp32_bf16x6")));
  EXPECT_FALSE(family.supports(parse_signature("f32+tf32")));
  EXPECT_FALSE(family.supports(parse_signature("f32")));
  EXPECT_TRUE(legal_for(by_mma(kOfAmpere), parse_problem("33x41x7:type=f32+fp32_f16x3:batch=3")));
  EXPECT_FALSE(legal_for(by_mma(kOfAmpere), parse_problem("33x41x7")));
}

TEST(MmaParts, ServesOneOperandOfThePartsType) {
  const KernelFamily& family = *find_family("mma_parts");
  for (const char* types : {"f32/bf16/f32/f32+bf16x6", "bf16/f32/f32/f32+bf16x6",
                            "f32/f16/f32/f32+fp32_f16x3", "f16/f32/f32/f32+fp32_f16x3"}) {
    EXPECT_TRUE(family.supports(parse_signature(types))) << types;
  }
  EXPECT_FALSE(family.supports(parse_signature("f32/f16/f32/f32+bf16x6")));
  EXPECT_FALSE(family.supports(parse_signature("f32/bf16/f32/f32")));
  const Traits of_two = by_mma(std::string(kOfAmpere) + ",ACCURACY=4,TYPE_B=2").traits;
  EXPECT_EQ(of_two.smem_bytes, 3 * (3 * 128 + 64) * 32 * 2);
}

TEST(MmaParts, OfTwoTypesReadRowsInPlaceOrCopyThem) {
  const KnownConfig config = by_mma(std::string(kOfAmpere) + ",ACCURACY=4,TYPE_B=2");
  const auto args_of = [&](const char* problem_text) {
    const Problem problem = parse_problem(problem_text);
    GemmCall call = packed_call(problem);
    call.B = reinterpret_cast<const void*>(std::uintptr_t{0x5000});
    parts::Args args{};
    run_plan(
        config.plan(problem, kAmpereSms), call,
        [](std::size_t i) { return reinterpret_cast<void*>(0x10000 * (i + 1)); }, [](auto&&...) {},
        [&](std::size_t, const Step& step, void** parameters) {
          if (step.entry == kProductEntry) args = *static_cast<const parts::Args*>(parameters[0]);
        });
    return args;
  };
  const parts::Args in_place = args_of("1000x2000x72:type=f32/bf16/f32/f32+bf16x6");
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(in_place.b.at), 0x5000U);
  EXPECT_EQ(in_place.b.factors_at, 0);
  const parts::Args copied = args_of("1000x2001x72:type=f32/bf16/f32/f32+bf16x6");
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(copied.b.at), 0x30000U);
  EXPECT_EQ(copied.b.factors_at, 2008);
}

TEST(MmaParts, KnowsWhatItsInstructionsNeed) {
  const Traits plain = by_mma(kOfAmpere).traits, of_turing = by_mma(kOfTuring).traits;
  EXPECT_EQ(plain.least_sm, 80);
  EXPECT_EQ(of_turing.least_sm, 75);
  EXPECT_EQ(of_turing.deeper_sm, 80);
  EXPECT_TRUE(has_instructions(plain, 120));
  EXPECT_TRUE(plain.async_copy);
  EXPECT_FALSE(of_turing.async_copy);
  EXPECT_EQ(plain.smem_bytes, 3 * 2 * (128 + 64) * 32 * 2);
  EXPECT_FALSE(by_mma(kOfAmpere).is_exportable());
  const Traits of_bf16 = by_mma(std::string(kOfAmpere) + ",ACCURACY=4").traits;
  EXPECT_EQ(of_bf16.smem_bytes, 3 * 3 * (128 + 64) * 32 * 2);
  EXPECT_EQ(of_bf16.signature, parse_signature("f32+fp32_bf16x6"));
}

TEST(MmaParts, RejectsForTheReasonAtFault) {
  const KernelFamily& family = *find_family("mma_parts");
  const auto reason = [&](const char* config) {
    return family.reject(
        values_in(family, parse_config("mma_parts/" + std::string(config) + ",TA=0,TB=0")));
  };
  EXPECT_EQ(reason("BM=40,BN=64,BK=32,WM=32,WN=32,MMA_K=16,STAGES=2"),
            "tile sizes must be multiples of 16 up to 1024");
  EXPECT_EQ(reason("BM=64,BN=64,BK=16,WM=32,WN=32,MMA_K=16,STAGES=2"), "BK must be 32 or 64");
  EXPECT_EQ(reason("BM=96,BN=32,BK=32,WM=32,WN=32,MMA_K=16,STAGES=2"),
            "a CTA's warps are a power of two");
  EXPECT_EQ(reason("BM=64,BN=64,BK=32,WM=64,WN=64,MMA_K=16,STAGES=2"),
            "registers hold no blocks beside the sums");
  EXPECT_EQ(reason("ACCURACY=4,BM=64,BN=64,BK=32,WM=32,WN=32,MMA_K=8,STAGES=2"),
            "bf16 parts need instructions of depth 16");
  EXPECT_EQ(reason("BM=64,BN=64,BK=32,WM=32,WN=32,MMA_K=8,STAGES=3"),
            "more than two stages need cp.async");
}

TEST(MmaParts, SplitsOperandsBeforeTheProduct) {
  const Problem problem = parse_problem("1000x2000x72:type=f32+fp32_f16x3:batch=3");
  const LaunchPlan plan = by_mma(kOfAmpere).plan(problem, kAmpereSms);
  ASSERT_EQ(plan.steps.size(), 4U);
  EXPECT_EQ(plan.steps[0].entry, "split");
  EXPECT_EQ(plan.steps[0].makes, Copies::of_both);
  EXPECT_EQ(plan.steps[1].makes, Copies::of_a);
  EXPECT_EQ(plan.steps[2].makes, Copies::of_b);
  EXPECT_EQ(plan.product().grid, (Grid{3 * 8 * 32}));
  EXPECT_FALSE(plan.product().overlaps);
  EXPECT_EQ(plan.product().threads, 128);
  EXPECT_EQ(plan.regions[1].bytes, 3 * 1000 * (128 * 2 * 2 + 4) + 4 * (3000 / 64 + 8));
  EXPECT_EQ(plan.regions[2].copy_of, CallValue::B);
}

// Clusters are sm_90's.
TEST(MmaParts, SplitsLongLinesAcrossRowsWithoutClusters) {
  const LaunchPlan plan =
      by_mma(kOfAmpere).plan(parse_problem("4096x4096x4096:type=f32+fp32_f16x3"), kAmpereSms);
  const Step& split = plan.steps[0];
  EXPECT_EQ(split.entry, "split");
  EXPECT_EQ(split.cluster.ctas(), 1);
  EXPECT_EQ(split.threads, 512);
  EXPECT_EQ(split.grid, (Grid{4096 / 4 + 4096 / 8}));  // 4 rows of A a CTA, 8 columns of B
}

// gt_prepare: a copy serves whichever family wins.
TEST(MmaParts, KeepsTheCopiesThatTheOtherFamilyOfTheClassDoes) {
  const Problem problem = parse_problem("1000x2000x72:type=f32+fp32_f16x3");
  const auto bytes = [&](const KnownConfig& config) {
    return config.plan(problem, kAmpereSms).that_makes(CallValue::B)->workspace_bytes;
  };
  EXPECT_EQ(bytes(by_mma(kOfAmpere)),
            bytes(known("wgmma_parts/BM=128,BN=128,GROUPS=2,PROMOTE=64,TA=0,TB=0")));
}

// By data sheets a third of the rate of tensor cores is above that of fp32 on every card of sm_75
// and sm_80, and below it on some of the others.
TEST(MmaParts, ServesUntunedProblemsWhereItPaysOnEveryCard) {
  const KernelFamily& family = *find_family("mma_parts");
  const auto untuned = [&](const char* signature, int sm) {
    const auto values = family.untuned(parse_signature(signature), sm);
    return values ? to_string(family.config(*values)) : "";
  };
  EXPECT_EQ(untuned("f32+fp32_f16x3", 75), "mma_parts/" + std::string(kOfTuring));
  EXPECT_EQ(untuned("f32+fp32_f16x3", 80),
            "mma_parts/BM=64,BN=64,BK=32,WM=32,WN=32,MMA_K=16,STAGES=2,TA=0,TB=0");
  for (const int sm : {86, 89, 90, 100, 120}) EXPECT_EQ(untuned("f32+fp32_f16x3", sm), "") << sm;
  EXPECT_EQ(untuned("f32+fp32_bf16x6", 80),
            "mma_parts/BM=64,BN=64,BK=32,WM=32,WN=32,MMA_K=16,STAGES=2,TA=0,TB=0,ACCURACY=4");
  EXPECT_EQ(
      untuned("f32/bf16/f32/f32+fp32_bf16x6", 80),
      "mma_parts/BM=64,BN=64,BK=32,WM=32,WN=32,MMA_K=16,STAGES=2,TA=0,TB=0,ACCURACY=4,TYPE_B=2");
  EXPECT_EQ(untuned("f32+fp32_bf16x6", 75), "");
  EXPECT_EQ(untuned("f32+tf32", 80), "");
}

}  // namespace
}  // namespace gemm_tune
