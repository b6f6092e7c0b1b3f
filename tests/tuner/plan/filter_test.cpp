// SPDX-License-Identifier: Apache-2.0
#include "tuner/plan/filter.h"

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tests/kernel_templates/spaces.h"
#include "tests/matchers.h"

namespace gemm_tune {
namespace {

KnownConfig tile_128(const char* tail = "VEC=4,PAD=0,INTERLEAVE=0,PRED=0") {
  return known(std::string("vectorized_2d/BM=128,BN=128,BK=8,TM=8,TN=8,") + tail);
}

DeviceSpec a6000() { return find_device_spec("sm_86").value(); }

TEST(FilterTest, AcceptsAWholeTileProblem) {
  EXPECT_EQ(reject_before_compile(tile_128(), packed_problem(1024, 1024, 1024), a6000()),
            std::nullopt);
}

TEST(FilterTest, RejectsAnUnpredicatedKernelForARaggedProblem) {
  EXPECT_THAT(reject_before_compile(tile_128(), packed_problem(1000, 1024, 1024), a6000()),
              Optional(HasSubstr("multiple of the tile")));
  EXPECT_THAT(reject_before_compile(tile_128(), packed_problem(1024, 1024, 1020), a6000()),
              Optional(HasSubstr("multiple of the tile")));
}

TEST(FilterTest, RejectsVectorAccessesThatTheAlignmentDoesNotAllow) {
  Problem misaligned = packed_problem(1024, 1024, 1024);
  misaligned = in_class(misaligned, 2);
  EXPECT_THAT(reject_before_compile(tile_128(), misaligned, a6000()),
              Optional(HasSubstr("alignment")));
}

// In the order of refusal(), which the library and the exported header share.
TEST(FilterTest, OfTwoRefusalsTheLaunchsFirstIsTheReason) {
  const Problem odd = packed_problem(1023, 1023, 1023);
  ASSERT_EQ(refusal(tile_128().recipe, launch_problem(odd)), Refusal::multiple_m);
  EXPECT_THAT(reject_before_compile(tile_128(), odd, a6000()),
              Optional(HasSubstr("multiple of the tile")));
}

TEST(FilterTest, RejectsAKernelForAnotherLayout) {
  EXPECT_THAT(
      reject_before_compile(tile_128(), packed_problem(1024, 1024, 1024, Layout::nt), a6000()),
      Optional(HasSubstr("layout")));
  KnownConfig transposed = tile_128();
  transposed.recipe.layout = Layout::nt;
  EXPECT_EQ(
      reject_before_compile(transposed, packed_problem(1024, 1024, 1024, Layout::nt), a6000()),
      std::nullopt);
}

TEST(FilterTest, RejectsAKernelForOtherTypes) {
  const Signature bf16 = signature_of(ElementType::bf16);
  const Problem problem = packed_problem(1024, 1024, 1024, Layout::nn, 1, bf16);
  EXPECT_THAT(reject_before_compile(tile_128(), problem, a6000()),
              Optional(HasSubstr("element types")));
  KnownConfig typed = tile_128();
  typed.recipe.type_a = typed.recipe.type_b = typed.recipe.type_cd = ElementType::bf16;
  typed.recipe.accuracy = bf16.accuracy;
  EXPECT_EQ(reject_before_compile(typed, problem, a6000()), std::nullopt);
  typed.recipe.type_b = ElementType::f32;
  EXPECT_THAT(reject_before_compile(typed, problem, a6000()), Optional(HasSubstr("element types")));
  typed.recipe.type_b = ElementType::bf16;
  typed.recipe.type_cd = ElementType::f32;
  EXPECT_THAT(reject_before_compile(typed, problem, a6000()), Optional(HasSubstr("element types")));
}

// By --config any family may be named.
TEST(FilterTest, RejectsAKernelOfAWeakerAccuracyClass) {
  const DeviceSpec a100 = find_device_spec("sm_80").value();
  const auto verdict = [&](const KnownConfig& config, const char* types) {
    return reject_before_compile(config, parse_problem("1024x1024x1024:type=" + std::string(types)),
                                 a100);
  };
  const KnownConfig f16x3 =
      known("mma_parts/BM=64,BN=64,BK=32,WM=32,WN=32,MMA_K=16,STAGES=2,TA=0,TB=0");
  EXPECT_EQ(verdict(f16x3, "f32+fp32_f16x3"), std::nullopt);
  for (const char* other : {"f32", "f32+tf32", "f32+fp32_bf16x6"}) {
    EXPECT_THAT(verdict(f16x3, other), Optional(HasSubstr("another accuracy class"))) << other;
  }
  for (const char* any : {"f32", "f32+tf32", "f32+fp32_f16x3", "f32+fp32_bf16x6"}) {
    EXPECT_EQ(verdict(tile_128(), any), std::nullopt) << any;
  }
  const auto of_class = [](const char* accuracy) {
    return known(
        "mma/AB=1,CD=1,BM=64,BN=64,BK=32,WM=32,WN=32,MMA_K=16,STAGES=2,ASYNC=1,VEC=8,RASTER=8,"
        "SPLIT_K=1,TA=0,TB=0,PRED=0,ACCURACY=" +
        std::string(accuracy));
  };
  EXPECT_EQ(verdict(of_class("5"), "f16+sums_fp16"), std::nullopt);
  EXPECT_EQ(verdict(of_class("6"), "f16+sums_fp16"), std::nullopt);
  EXPECT_THAT(verdict(of_class("6"), "f16"), Optional(HasSubstr("another accuracy class")));
}

TEST(FilterTest, RejectsInstructionsThatTheTargetLacks) {
  KnownConfig late = tile_128();
  late.traits.least_sm = 89;
  EXPECT_THAT(reject_before_compile(late, packed_problem(1024, 1024, 1024), a6000()),
              Optional(HasSubstr("instructions that the target lacks")));
  late.traits.least_sm = 86;
  EXPECT_EQ(reject_before_compile(late, packed_problem(1024, 1024, 1024), a6000()), std::nullopt);
  late.traits.only_sm = 80;
  EXPECT_THAT(reject_before_compile(late, packed_problem(1024, 1024, 1024), a6000()),
              Optional(HasSubstr("instructions that the target lacks")));
}

// A multiplication of depth 16 in two halves is what sm_75 needs. --config takes it anywhere.
TEST(FilterTest, LeavesOutShallowInstructionsWhereTheTargetHasDeepOnes) {
  const auto of_depth = [](int mma_k) {
    return known("mma/AB=1,CD=1,BM=64,BN=64,BK=32,WM=32,WN=32,MMA_K=" + std::to_string(mma_k) +
                 ",STAGES=2,ASYNC=0,VEC=8,RASTER=8,SPLIT_K=1,TA=0,TB=0,PRED=0");
  };
  const Problem problem =
      packed_problem(1024, 1024, 1024, Layout::nn, 1, signature_of(ElementType::f16));
  const DeviceSpec turing = find_device_spec("sm_75").value();
  EXPECT_THAT(reject_needless(of_depth(8), problem, a6000()),
              Optional(HasSubstr("two instructions")));
  EXPECT_EQ(reject_before_compile(of_depth(8), problem, a6000()), std::nullopt);
  EXPECT_EQ(reject_needless(of_depth(16), problem, a6000()), std::nullopt);
  EXPECT_EQ(reject_needless(of_depth(8), problem, turing), std::nullopt);
}

auto rejected_by(const KnownConfig& config, const char* arch) {
  return reject_before_compile(config, packed_problem(1024, 1024, 1024),
                               find_device_spec(arch).value());
}

TEST(FilterTest, RejectsClustersBeforeHopper) {
  KnownConfig cluster = tile_128();
  cluster.traits.cluster_ctas = 2;
  EXPECT_THAT(rejected_by(cluster, "sm_89"), Optional(HasSubstr("clusters")));
  EXPECT_EQ(rejected_by(cluster, "sm_90"), std::nullopt);
  EXPECT_EQ(rejected_by(cluster, "sm_120"), std::nullopt);
}

TEST(FilterTest, RejectsAsynchronousCopiesBeforeAmpere) {
  KnownConfig asynchronous = tile_128();
  asynchronous.traits.async_copy = true;
  EXPECT_THAT(rejected_by(asynchronous, "sm_75"), Optional(HasSubstr("cp.async")));
  EXPECT_EQ(rejected_by(asynchronous, "sm_80"), std::nullopt);
  EXPECT_EQ(rejected_by(tile_128(), "sm_75"), std::nullopt);
}

TEST(FilterTest, ABatchBeyondTheGridIsNotLegal) {
  EXPECT_EQ(
      reject_before_compile(tile_128(), packed_problem(128, 128, 128, Layout::nn, 65535), a6000()),
      std::nullopt);
  EXPECT_EQ(
      reject_before_compile(tile_128(), packed_problem(128, 128, 128, Layout::nn, 65536), a6000()),
      "not legal for the problem's batch");
}

TEST(FilterTest, RejectsMoreSharedMemoryThanTheTargetHas) {
  DeviceSpec small = a6000();
  small.max_smem_per_cta_bytes = 8191;
  EXPECT_THAT(reject_before_compile(tile_128(), packed_problem(1024, 1024, 1024), small),
              Optional(HasSubstr("shared memory per CTA")));
}

TEST(FilterTest, RejectsMoreThreadsThanTheTargetAllows) {
  DeviceSpec small = a6000();
  small.max_threads_per_cta = 128;
  EXPECT_THAT(reject_before_compile(tile_128(), packed_problem(1024, 1024, 1024), small),
              Optional(HasSubstr("threads per CTA")));
}

// For every problem the same.
const std::vector<std::vector<int>>& points_of(const KernelFamily& family) {
  static std::map<const KernelFamily*, std::vector<std::vector<int>>> all;
  const auto [at, is_new] = all.try_emplace(&family);
  if (is_new) at->second = some_valid_points(family);
  return at->second;
}

TEST(FilterTest, RulesOfAProblemTurnDownNothingThatTheFilterWouldTake) {
  const DeviceSpec h100 = find_device_spec("sm_90").value();
  for (const char* text : {"1024x1024x1024", "333x777x2222", "100x52x33", "512x50257x766:layout=nt",
                           "16x4096x4096", "100x52x33:type=f16", "1024x1024x1024:type=bf16"}) {
    const Problem problem = parse_problem(text);
    for (const KernelFamily* family : families_of(problem.signature)) {
      const std::vector<FamilyRule> rules = rules_of_problem(*family, problem, h100);
      std::size_t turned_down = 0;
      for (const std::vector<int>& point : points_of(*family)) {
        const KnownConfig config = known_config(*family, point);
        const std::string name = to_string(config.config()) + " at " + text;
        for (const FamilyRule& rule : rules) {
          if (!rule.broken(point)) continue;
          ++turned_down;
          EXPECT_TRUE(reject_before_compile(config, problem, h100) ||
                      reject_needless(config, problem, h100))
              << name << ": " << rule.reason;
        }
      }
      if (family->find_role(Role::predicated) && family->find_param("BM") &&
          problem != packed_problem(1024, 1024, 1024)) {
        EXPECT_GT(turned_down, 0u) << family->name << " at " << text;
      }
    }
  }
}

TEST(FilterTest, LeavesOutPredicationWhereTheTileFits) {
  const KnownConfig predicated = tile_128("VEC=4,PAD=0,INTERLEAVE=0,PRED=1");
  EXPECT_THAT(reject_needless(predicated, packed_problem(1024, 1024, 1024), a6000()),
              Optional(HasSubstr("no ragged edge")));
  EXPECT_EQ(reject_needless(predicated, packed_problem(1000, 1000, 1000), a6000()), std::nullopt);
  EXPECT_EQ(reject_needless(tile_128(), packed_problem(1024, 1024, 1024), a6000()), std::nullopt);
}

TEST(FilterTest, LeavesOutLaunchBoundsThatBindNothing) {
  const auto reason = [](const std::string& tile, const char* ctas) {
    const std::string text = "warp_tiled/CLUSTER=0," + tile +
                             ",WARPS_K=1,STAGES=2,ASYNC=0,FRAGMENTS=2,VEC=4,RASTER=8,CTAS=" + ctas +
                             ",SPLIT_K=1,TAIL=0,TA=0,TB=0,PRED=0";
    return reject_needless(known(text), packed_problem(1024, 1024, 1024), a6000());
  };
  // 256 threads of about 140 registers: two CTAs must do with 128.
  EXPECT_EQ(reason("BM=128,BN=128,BK=8,WM=64,WN=32,TM=8,TN=8", "1"), std::nullopt);
  EXPECT_EQ(reason("BM=128,BN=128,BK=8,WM=64,WN=32,TM=8,TN=8", "2"), std::nullopt);
  // 64 threads of about 90: two CTAs have 255.
  EXPECT_EQ(reason("BM=32,BN=32,BK=16,WM=16,WN=32,TM=4,TN=4", "1"), std::nullopt);
  EXPECT_THAT(reason("BM=32,BN=32,BK=16,WM=16,WN=32,TM=4,TN=4", "2"),
              Optional(HasSubstr("CTAs per SM")));
}

// Two warps along K, each with 8 or 16 k steps of 128 multiplications.
std::string eight_by_sixteen(const std::string& steps, const std::string& fragments) {
  return "warp_tiled/CLUSTER=0,BM=64,BN=128,BK=" + steps +
         ",WM=64,WN=64,TM=8,TN=16,WARPS_K=2,STAGES=2,ASYNC=0,FRAGMENTS=" + fragments +
         ",VEC=4,RASTER=8,CTAS=1,SPLIT_K=1,TAIL=0,TA=0,TB=0,PRED=0";
}

// 64x128 tiles in slices of 16.
std::string shared_along_k(int stages, int split_k) {
  return "warp_tiled/CLUSTER=0,BM=64,BN=128,BK=16,WM=32,WN=64,TM=8,TN=8,WARPS_K=1,STAGES=" +
         std::to_string(stages) +
         ",ASYNC=1,FRAGMENTS=2,VEC=4,RASTER=8,CTAS=1,SPLIT_K=" + std::to_string(split_k) +
         ",TAIL=0,TA=0,TB=0,PRED=0";
}

std::optional<std::string_view> needless(const std::string& text, const char* problem,
                                         const char* arch) {
  return reject_needless(known(text), parse_problem(problem), find_device_spec(arch).value());
}

TEST(FilterTest, LeavesOutWhatRecordingsHaveShownToLose) {
  const auto reason = [](const std::string& text, const char* problem) {
    return needless(text, problem, "sm_90");
  };
  EXPECT_EQ(reason(eight_by_sixteen("16", "2"), "1024x1024x1024"), std::nullopt);
  EXPECT_THAT(reason(eight_by_sixteen("32", "2"), "1024x1024x1024"),
              Optional(HasSubstr("instruction cache")));
  EXPECT_THAT(reason(eight_by_sixteen("16", "1"), "1024x1024x1024"),
              Optional(HasSubstr("loads operands late")));
  // 16 slices.
  EXPECT_EQ(reason(shared_along_k(2, 8), "256x256x256"), std::nullopt);
  EXPECT_THAT(reason(shared_along_k(2, 12), "256x256x256"), Optional(HasSubstr("hardly a slice")));
  // 528 and 544 tiles on 132 SMs.
  EXPECT_EQ(reason(shared_along_k(2, 2), "2112x2048x4096"), std::nullopt);
  EXPECT_THAT(reason(shared_along_k(2, 2), "2176x2048x4096"),
              Optional(HasSubstr("enough of them")));
}

TEST(FilterTest, LeavesToTheModelWhatWasNeverRecordedOnTheArchitecture) {
  for (const char* arch : {"sm_80", "sm_86", "sm_89", "sm_100", "sm_120"}) {
    EXPECT_EQ(needless(eight_by_sixteen("32", "2"), "1024x1024x1024", arch), std::nullopt) << arch;
    EXPECT_EQ(needless(eight_by_sixteen("16", "1"), "1024x1024x1024", arch), std::nullopt) << arch;
    EXPECT_EQ(needless(shared_along_k(2, 12), "256x256x256", arch), std::nullopt) << arch;
    EXPECT_EQ(needless(shared_along_k(2, 2), "8192x8192x8192", arch), std::nullopt) << arch;
  }
}

TEST(FilterTest, RecordingsOfFfmasForbidNothingOnTensorCores) {
  const DeviceSpec h100 = find_device_spec("sm_90").value();
  const auto reason = [&](const std::string& text, const char* problem) {
    KnownConfig config = known(text);
    config.traits.signature.accuracy = Accuracy::sums_fp32;
    return reject_needless(config, parse_problem(problem), h100);
  };
  EXPECT_EQ(reason(eight_by_sixteen("32", "2"), "1024x1024x1024"), std::nullopt);
  EXPECT_EQ(reason(eight_by_sixteen("16", "1"), "1024x1024x1024"), std::nullopt);
  EXPECT_EQ(reason(shared_along_k(2, 2), "2176x2048x4096"), std::nullopt);
  EXPECT_THAT(reason(shared_along_k(2, 12), "256x256x16"), Optional(HasSubstr("hardly a slice")));
}

// No recording is needed to know it.
TEST(FilterTest, LeavesOutOnEveryArchitectureWhatChangesNothing) {
  for (const char* arch : {"sm_80", "sm_86", "sm_90", "sm_120"}) {
    // One slice for twelve CTAs.
    EXPECT_THAT(needless(shared_along_k(2, 12), "256x256x16", arch),
                Optional(HasSubstr("hardly a slice")))
        << arch;
    EXPECT_EQ(needless(shared_along_k(4, 1), "256x256x32", arch), "more stages than slices")
        << arch;
  }
}

TEST(FilterTest, LeavesOutWhatHasTooLittleToDoOrChangesNothing) {
  const auto reason = [](const char* shape, const std::string& stages, const std::string& split) {
    const std::string text =
        "warp_tiled/CLUSTER=0,BM=64,BN=128,BK=16,WM=32,WN=64,TM=8,TN=8,WARPS_K=1,STAGES=" + stages +
        ",ASYNC=1,FRAGMENTS=2,VEC=4,RASTER=8,CTAS=1,SPLIT_K=" + split + ",TA=0,TB=0,PRED=0";
    return reject_needless(known(text), parse_problem(shape), find_device_spec("sm_90").value());
  };
  // 16 slices of 16.
  EXPECT_EQ(reason("256x256x256", "3", "8,TAIL=0"), std::nullopt);
  EXPECT_THAT(reason("256x256x256", "4", "12,TAIL=0"), Optional(HasSubstr("hardly a slice")));
  EXPECT_EQ(reason("256x256x256", "4", "4,TAIL=0"), std::nullopt);
  EXPECT_EQ(reason("256x256x32", "3", "1,TAIL=0"), std::nullopt);
  EXPECT_EQ(reason("256x256x32", "4", "1,TAIL=0"), "more stages than slices");
  // 132 tiles are a whole wave on 132 SMs, 136 are not.
  EXPECT_THAT(reason("768x1408x4096", "4", "1,TAIL=1"), Optional(HasSubstr("ragged last wave")));
  EXPECT_EQ(reason("512x2176x4096", "4", "1,TAIL=1"), std::nullopt);
  // 100 tiles leave 32 SMs to work through 4 rests each: a cut pays from 13 slices on.
  EXPECT_THAT(reason("640x1280x192", "4", "1,TAIL=1"), Optional(HasSubstr("ragged last wave")));
  EXPECT_EQ(reason("640x1280x208", "4", "1,TAIL=1"), std::nullopt);
}

TEST(FilterTest, LeavesOutAReductionWhereNoTileIsCut) {
  const auto reason = [](const char* shape) {
    return needless("wgmma/AB=2,CD=2,BM=128,BN=128,GROUPS=2,PINGPONG=0,REDUCE=1,TA=0,TB=0",
                    (std::string(shape) + ":type=bf16").c_str(), "sm_90");
  };
  EXPECT_EQ(reason("512x128x16384"), std::nullopt);
  EXPECT_EQ(reason("3072x768x2048"), std::nullopt);  // 12 of 144 tiles
  EXPECT_THAT(reason("512x128x128"), Optional(HasSubstr("cuts no tile")));
  EXPECT_THAT(reason("2304x1536x2048"), Optional(HasSubstr("cuts no tile")));
}

TEST(FilterTest, RejectsSpillsStackAndKernelsThatDoNotFit) {
  Resources good{116, 0, 0, 8192, 2};
  EXPECT_EQ(reject_after_compile(good), std::nullopt);
  Resources spilling = good;
  spilling.spill_bytes = 32;
  EXPECT_EQ(reject_after_compile(spilling), std::nullopt);
  spilling.spill_bytes = 36;
  EXPECT_EQ(reject_after_compile(spilling), "registers spill to local memory");
  Resources stack = good;
  stack.stack_bytes = 48;
  EXPECT_THAT(reject_after_compile(stack), Optional(HasSubstr("stack frame")));
  Resources large = good;
  large.ctas_per_sm = 0;
  EXPECT_EQ(reject_after_compile(large), "no CTA fits an SM");
}

// skinny's registers depend on whether KEEP is 0, and not on STAGED_FIRST.
TEST(FilterTest, TellsWhichConfigsAreRejectedAlike) {
  std::vector<KnownConfig> configs = {tile_128()};
  for (const char* end : {"VEC=4", "VEC=2", "VEC=4,KEEP=2", "VEC=4,KEEP=8,STAGED_FIRST=1",
                          "VEC=4,STAGED_FIRST=1", "VEC=2,KEEP=2"}) {
    std::string text =
        "skinny/CLUSTER=0,BS=8,TL=4,WARPS=4,LANES_K=1,UNROLL=8,SPLIT_K=1,SKINNY_N=0,TA=0,TB=0,"
        "PRED=1,";
    configs.push_back(check_config(parse_config(text + end)));
  }
  const ConfigList points(configs);
  using Points = std::vector<std::size_t>;
  EXPECT_EQ(rejected_alike(points, 0), Points{});
  EXPECT_EQ(rejected_alike(points, 1), Points{5});
  EXPECT_EQ(rejected_alike(points, 2), Points{});
  EXPECT_EQ(rejected_alike(points, 3), Points{4});
  EXPECT_EQ(rejected_alike(points, 5), Points{1});
}

TEST(FilterTest, CompletesResourcesWithSharedMemoryAndOccupancy) {
  const Resources complete = complete_resources({116, 0, 0, 0, 0}, tile_128(), a6000());
  EXPECT_EQ(complete.smem_bytes, 8192);  // 8 * (128 + 128) floats
  EXPECT_EQ(complete.ctas_per_sm, 2);    // by registers
}

TEST(FilterTest, LeavesOutCopiesThatBringNothing) {
  const KnownConfig repack = tile_128("VEC=4,PAD=0,INTERLEAVE=0,PRED=1,REPACK=1");
  const char* const needless = "copies operands to aligned rows whose own suffice";
  EXPECT_EQ(reject_needless(repack, packed_problem(1000, 1000, 1000), a6000()), needless);
  const Problem unaligned_a = packed_problem(1000, 1000, 1001);
  EXPECT_EQ(reject_before_compile(repack, unaligned_a, a6000()), std::nullopt);
  EXPECT_EQ(reject_needless(repack, unaligned_a, a6000()), std::nullopt);
  const KnownConfig narrow = tile_128("VEC=1,PAD=0,INTERLEAVE=0,PRED=1,REPACK=1");
  EXPECT_EQ(reject_needless(narrow, unaligned_a, a6000()), needless);
}

// Of warp_tiled, whose widest accesses are never worse.
TEST(FilterTest, OfConfigsThatProblemsSeeAlikeEachProblemHasOneVerdict) {
  const DeviceSpec h100 = find_device_spec("sm_90").value();
  std::size_t shared = 0, differing = 0;
  for (const char* text : {"1024x1024x1024", "333x777x2222", "4096x4096x4096:batch=3",
                           "512x50257x766:layout=nt", "16x4096x4096", "1x2048x16384:layout=nt",
                           "100x52x33:type=f16", "1024x1024x1024:type=bf16"}) {
    const Problem problem = parse_problem(text);
    for (const KernelFamily* family : families_of(problem.signature)) {
      std::map<std::vector<int>, std::optional<std::string_view>> verdicts;
      for (const std::vector<int>& point : points_of(*family)) {
        const KnownConfig config = known_config(*family, point);
        if (reject_on_device(config, h100) || reject_needless_on_device(config, h100)) continue;
        auto verdict = reject_before_compile(config, problem, h100);
        if (!verdict) verdict = reject_needless(config, problem, h100);
        const auto [at, is_new] = verdicts.try_emplace(seen_by_problems(config), verdict);
        EXPECT_EQ(at->second, verdict) << to_string(config.config()) << " at " << text;
        (is_new ? differing : shared) += 1;
      }
    }
  }
  EXPECT_GT(shared, 100u);
  EXPECT_GT(differing, 100u);
}

TEST(FilterTest, LeavesOutAccessesNarrowerThanTheAlignmentAllows) {
  const auto config = [](const char* tail) {
    return known(
        std::string("warp_tiled/CLUSTER=0,BM=64,BN=64,BK=16,WM=32,WN=32,TM=8,TN=4,WARPS_K=1,"
                    "STAGES=2,ASYNC=2,FRAGMENTS=2,") +
        tail);
  };
  const char* const rest = ",RASTER=8,CTAS=1,SPLIT_K=1,TAIL=0,TA=0,TB=0,PRED=1";
  const auto verdict = [&](const std::string& vec, const std::string& repack) {
    return reject_needless(config((vec + rest + repack).c_str()), packed_problem(1000, 1000, 1001),
                           a6000());
  };
  EXPECT_EQ(verdict("VEC=1", ""), std::nullopt);
  EXPECT_EQ(verdict("VEC=4", ",REPACK=1"), std::nullopt);
  EXPECT_THAT(verdict("VEC=2", ",REPACK=1"), Optional(HasSubstr("narrower accesses")));
}

// An H100's L2 has 50 MB. 1x4096x4096 streams 67 MB, of which a sixteenth is 4.2 MB.
TEST(FilterTest, LeavesOutKeepingAnOperandThatTheL2HoldsOrCannotHold) {
  const DeviceSpec h100 = find_device_spec("sm_90").value();
  const auto verdict = [&](int keep, const Problem& problem) {
    const KnownConfig config = known(
        "skinny/CLUSTER=0,BS=1,TL=4,WARPS=8,LANES_K=1,UNROLL=8,VEC=4,SPLIT_K=1,SKINNY_N=0,"
        "TA=0,TB=0,PRED=0,KEEP=" +
        std::to_string(keep));
    return reject_needless(config, problem, h100);
  };
  const char* const needless = "keeps too little or too much of the large operand in the L2";
  EXPECT_EQ(verdict(0, packed_problem(1, 4096, 4096)), std::nullopt);
  EXPECT_EQ(verdict(1, packed_problem(1, 4096, 4096)), needless);
  EXPECT_EQ(verdict(6, packed_problem(1, 4096, 4096)), std::nullopt);
  EXPECT_EQ(verdict(12, packed_problem(1, 4096, 4096)), needless);
  EXPECT_EQ(verdict(6, packed_problem(1, 2048, 4096)), needless);  // 34 MB
  EXPECT_EQ(verdict(1, packed_problem(1, 4096, 4096, Layout::nn, 4)), std::nullopt);
}

}  // namespace
}  // namespace gemm_tune
