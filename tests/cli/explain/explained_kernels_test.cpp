// SPDX-License-Identifier: Apache-2.0
// What explain says of compiled kernels; no GPU is needed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <utility>

#include "cli/explain/kernel_figures.h"
#include "gpu/compile/nvrtc.h"
#include "kernel_templates/ladder.h"
#include "kernel_templates/source/source.h"
#include "tuner/plan/filter.h"

namespace gemm_tune {
namespace {

using ptx::Access;
using ptx::AccessCount;
using ptx::AccessKey;
using ptx::Memory;

// A card with the 84 SMs of the first article: siboehm.com/articles/22/CUDA-MMM.
DeviceSpec a6000() {
  DeviceSpec device = *find_device_spec("sm_86");
  device.sm_count = 84;
  return device;
}

KnownConfig known(std::string_view text) { return check_config(parse_config(std::string(text))); }

Problem square(std::int64_t edge) {
  Problem problem;
  problem.M = problem.N = problem.K = edge;
  return problem;
}

// Each kernel once: several tests, which share a process, look at the first article's.
const CompileResult& compiled(const KnownConfig& config, const std::string& arch) {
  static std::map<std::pair<std::string, std::string>, CompileResult> all;
  const auto [at, is_new] = all.try_emplace({to_string(config.config()), arch});
  if (is_new) {
    const KernelSource source = kernel_source(*config.family);
    at->second = nvrtc_compile({source.path, source.text, source.headers},
                               compile_definitions(config), compile_target(config, arch));
  }
  return at->second;
}

KernelAnalysis analysed(std::string_view text, const DeviceSpec& device, const Problem& problem) {
  const KnownConfig config = known(text);
  const CompileResult& result = compiled(config, device.arch);
  EXPECT_TRUE(result.ok) << text << ": " << result.log;
  return analyse(config, problem, device, complete_resources(result.resources, config, device),
                 kernel_accesses(config, problem, device.sm_count, result.ptx, result.cubin), {});
}

AccessCount of(const KernelAnalysis& kernel, Access access, Memory memory) {
  return ptx::sum_of(kernel.accesses.of_cta, [=](const AccessKey& key) {
    return key.access == access && key.memory == memory;
  });
}

double bytes_used_per_sector(const AccessCount& count) { return count.bytes / count.sectors; }

constexpr std::string_view kScalar = "tiled_2d/BM=128,BN=128,BK=8,TM=8,TN=8,PRED=0";
constexpr std::string_view kVectorised =
    "vectorized_2d/BM=128,BN=128,BK=8,TM=8,TN=8,VEC=4,PAD=0,INTERLEAVE=0,PRED=0";

TEST(Explain, TheFirstArticlesKernelsRunTwoCtasPerSmInSixWavesAndATail) {
  for (const std::string_view config : {kScalar, kVectorised}) {
    const KernelAnalysis kernel = analysed(config, a6000(), square(4096));
    // The article has 128 and 116; NVRTC 13.0 makes 118 and 117 of our texts (docs/explain.md).
    EXPECT_GE(kernel.resources.registers, 97) << config;
    EXPECT_LE(kernel.resources.registers, 128) << config;
    EXPECT_EQ(kernel.fit.ctas_per_sm, 2);
    EXPECT_EQ(kernel.fit.limiter, OccupancyLimiter::registers);
    EXPECT_NEAR(100 * kernel.fit.fraction, 33.3, 0.05);
    EXPECT_NEAR(kernel.waves.waves, 6.10, 0.005);
    EXPECT_EQ(kernel.waves.tail_ctas, 16);
  }
}

TEST(Explain, TheFirstArticlesKernelsStore4And16Of32BytesPerSector) {
  const AccessCount scalar =
      of(analysed(kScalar, a6000(), square(4096)), Access::global_store, Memory::d);
  EXPECT_EQ(scalar.sectors / scalar.requests, 32);
  EXPECT_EQ(bytes_used_per_sector(scalar), 4);
  const AccessCount vectorised =
      of(analysed(kVectorised, a6000(), square(4096)), Access::global_store, Memory::d);
  EXPECT_EQ(vectorised.sectors / vectorised.requests, 32);
  EXPECT_EQ(bytes_used_per_sector(vectorised), 16);
}

TEST(Explain, TheFirstArticlesKernelsLoadWholeSectors) {
  for (const std::string_view config : {kScalar, kVectorised}) {
    const KernelAnalysis kernel = analysed(config, a6000(), square(4096));
    for (const Memory memory : {Memory::a, Memory::b}) {
      const AccessCount loads = of(kernel, Access::global_load, memory);
      EXPECT_EQ(bytes_used_per_sector(loads), 32) << config;
      // Each element of the CTA's 128 rows or columns once.
      EXPECT_EQ(loads.bytes, 128.0 * 4096 * 4) << config;
    }
  }
}

// By hand, for a warp. In a k step two loads of A find two places, in two passes each. Two loads of
// B find 16 places 8 words apart: the 8 lanes of a quarter warp share 16 banks, two for each. In a
// slice four stores of A put two columns, whose rows are 128 words apart, into the same 16 banks.
// A store of 16 bytes for B takes four passes.
TEST(Explain, TheVectorisedKernelHasTwoWayConflictsThatInterleavingAndPaddingRemove) {
  const KernelAnalysis plain = analysed(kVectorised, a6000(), square(1024));
  const double warps = 8, k = 1024, slices = 128;
  const AccessCount loads = of(plain, Access::shared_load, Memory::shared);
  EXPECT_EQ(loads.requests, warps * k * 4);
  EXPECT_EQ(loads.wavefronts, warps * k * (2 * 2 + 2 * 8));
  EXPECT_EQ(loads.conflict_free, warps * k * (2 * 2 + 2 * 4));
  const AccessCount stores = of(plain, Access::shared_store, Memory::shared);
  EXPECT_EQ(stores.requests, warps * slices * (4 + 1));
  EXPECT_EQ(stores.wavefronts, warps * slices * (4 * 2 + 4));
  EXPECT_EQ(stores.conflict_free, warps * slices * (4 * 1 + 4));

  const KernelAnalysis mended =
      analysed("vectorized_2d/BM=128,BN=128,BK=8,TM=8,TN=8,VEC=4,PAD=4,INTERLEAVE=1,PRED=0",
               a6000(), square(1024));
  const AccessCount better = of(mended, Access::shared_load, Memory::shared);
  EXPECT_EQ(better.wavefronts, better.conflict_free);
}

// Two ways to the same count: the addresses that the PTX computes, and the index functions that the
// families give the static model.
TEST(Explain, TheLaddersSharedLoadsTakeThePassesThatTheirFamiliesCount) {
  int compared = 0;
  for (const Rung& rung : ladder()) {
    const KnownConfig config = known(rung.config);
    const Traits& t = config.traits;
    if (t.reads_global_in_inner_loop) continue;
    const KernelAnalysis kernel = analysed(rung.config, a6000(), square(1024));
    const AccessCount loads = of(kernel, Access::shared_load, Memory::shared);
    if (config.family->name == "warp_tiled") {
      // Beside these it has loads ahead of the loop.
      EXPECT_EQ(loads.wavefronts / loads.requests,
                t.feed_wavefronts_per_k / t.feed_instructions_per_k)
          << rung.config;
      continue;
    }
    const double warps = t.threads / 32.0;
    // NVRTC 13.0 loads each value of B twice there.
    const double again = config.family->name == "coarsened_1d" ? 1 : 0;
    EXPECT_EQ(loads.wavefronts / warps / 1024, t.feed_wavefronts_per_k + again) << rung.config;
    EXPECT_EQ(loads.requests / warps / 1024, t.feed_instructions_per_k + again) << rung.config;
    ++compared;
  }
  EXPECT_GE(compared, 8);
}

TEST(Explain, EveryFamilysKernelsCanBeTraced) {
  constexpr const char* kConfigs[] = {
      "warp_tiled/CLUSTER=0,BM=64,BN=64,BK=16,WM=32,WN=64,TM=8,TN=8,WARPS_K=1,STAGES=4,ASYNC=2,"
      "FRAGMENTS=1,VEC=4,RASTER=8,CTAS=1,SPLIT_K=1,TAIL=1,TA=0,TB=0,PRED=1",
      "warp_tiled/CLUSTER=1,BM=32,BN=32,BK=16,WM=32,WN=32,TM=4,TN=8,WARPS_K=4,STAGES=4,ASYNC=1,"
      "FRAGMENTS=1,VEC=4,RASTER=8,CTAS=1,SPLIT_K=3,TAIL=0,TA=1,TB=0,PRED=1",
      "warp_tiled/CLUSTER=0,BM=32,BN=32,BK=16,WM=32,WN=32,TM=8,TN=4,WARPS_K=8,STAGES=1,ASYNC=0,"
      "FRAGMENTS=1,VEC=4,RASTER=8,CTAS=1,SPLIT_K=3,TAIL=0,TA=0,TB=1,PRED=1,REPACK=1",
      "skinny/CLUSTER=0,BS=2,TL=2,WARPS=4,LANES_K=8,UNROLL=2,VEC=2,SPLIT_K=1,SKINNY_N=1,TA=0,TB=0,"
      "PRED=1",
      "skinny/CLUSTER=0,BS=4,TL=2,WARPS=4,LANES_K=1,UNROLL=8,VEC=2,SPLIT_K=2,SKINNY_N=0,TA=0,TB=0,"
      "PRED=1,KEEP=2",
      "mma/AB=1,CD=0,BM=16,BN=32,BK=32,WM=16,WN=32,MMA_K=8,STAGES=2,ASYNC=0,VEC=4,RASTER=8,"
      "SPLIT_K=4,TA=0,TB=1,PRED=1",
      "mma/AB=0,CD=0,BM=32,BN=32,BK=16,WM=16,WN=32,MMA_K=8,STAGES=3,ASYNC=1,VEC=4,RASTER=8,"
      "SPLIT_K=1,TA=1,TB=0,PRED=1,ACCURACY=2",
      "mma/AB=2,CD=0,BM=32,BN=32,BK=32,WM=16,WN=32,MMA_K=16,STAGES=3,ASYNC=1,VEC=8,RASTER=8,"
      "SPLIT_K=1,TA=0,TB=0,PRED=1"};
  for (const char* text : kConfigs) {
    const KnownConfig config = known(text);
    Problem problem = square(2048);
    problem.K = 512;
    problem.layout = config.recipe.layout;
    problem.signature = config.traits.signature;
    const KernelAnalysis kernel = analysed(text, *find_device_spec("sm_90"), problem);
    EXPECT_EQ(kernel.accesses.why_none, "") << text;
    // The mean CTA's stores of D are its share of a tile, whichever of the CTAs stores them.
    const Traits& t = config.traits;
    const double tile_bytes = 1.0 * t.tile_m * t.tile_n * bytes_of(problem.signature.d);
    EXPECT_NEAR(of(kernel, Access::global_store, Memory::d).bytes, tile_bytes / t.split_k, 1e-6)
        << text;
    EXPECT_GT(of(kernel, Access::global_load, Memory::a).requests, 0) << text;
    EXPECT_GT(of(kernel, Access::global_load, Memory::b).requests, 0) << text;
  }
}

TEST(Explain, ALongKIsExtrapolatedToTheSameCounts) {
  const KnownConfig config = known(kVectorised);
  const CompileResult& result = compiled(config, "sm_86");
  const auto requests = [&](std::int64_t k) {
    Problem problem = square(1024);
    problem.K = k;
    const KernelAccesses accesses = kernel_accesses(config, problem, 84, result.ptx, result.cubin);
    EXPECT_EQ(accesses.why_none, "");
    return ptx::sum_of(accesses.of_cta,
                       [](const AccessKey& key) { return key.access == Access::shared_load; })
        .requests;
  };
  EXPECT_EQ(requests(8'388'608), 8192 * requests(1024));
}

TEST(Explain, AccessesThatPtxasMergesAreInconclusive) {
  KernelAnalysis kernel = analysed(kScalar, a6000(), square(256));
  kernel.accesses.merged[ptx::MemoryInstruction::shared_load] = "2 in the PTX, 1 elsewhere";
  for (const Figure& figure : figures(kernel, square(256), a6000(), "measure")) {
    const bool is_shared_load = figure.key.starts_with("shared_loads");
    EXPECT_EQ(!figure.why_none.empty(), is_shared_load || figure.key == "measured_us")
        << figure.key;
  }
}

TEST(Explain, AKernelThatNobodyCanTraceIsInconclusive) {
  const KnownConfig config = known(kScalar);
  const KernelAccesses none =
      kernel_accesses(config, square(256), 84, ".entry gemm() { wobble; }", "");
  EXPECT_THAT(none.why_none, testing::HasSubstr("wobble"));
  EXPECT_TRUE(none.of_cta.empty());
}

TEST(Explain, MergedAccessesAreThoseThatTheMachineCodeHasFewerOf) {
  using ptx::MemoryInstruction;
  const ptx::InstructionCounts text = {{{MemoryInstruction::shared_load, 4}, 32},
                                       {{MemoryInstruction::global_load, 16}, 4}};
  EXPECT_TRUE(merged_accesses(text, text).empty());
  ptx::InstructionCounts unrolled = text;
  unrolled[{MemoryInstruction::global_load, 16}] = 18;
  EXPECT_TRUE(merged_accesses(text, unrolled).empty());
  const ptx::InstructionCounts wider = {{{MemoryInstruction::shared_load, 16}, 8},
                                        {{MemoryInstruction::global_load, 16}, 4}};
  EXPECT_THAT(
      merged_accesses(text, wider),
      testing::ElementsAre(testing::Pair(MemoryInstruction::shared_load,
                                         "32 of 4 bytes in the PTX, 0 in the machine code")));
}

}  // namespace
}  // namespace gemm_tune
