// SPDX-License-Identifier: Apache-2.0
#include "search/model/static_model.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <optional>
#include <vector>

#include "kernel_templates/registry/registry.h"

namespace gemm_tune {
namespace {

DeviceSpec spec(const char* arch) { return find_device_spec(arch).value(); }

Problem cube(std::int64_t edge) { return packed_problem(edge, edge, edge); }

// The rungs of a public ladder of SGEMM kernels, one thread or thread tile per rung; costs counted
// by hand from their access patterns.
Traits naive(bool coalesced) {
  Traits t;
  t.threads = 1024;
  t.tile_m = t.tile_n = 32;
  t.registers_estimate = 32;
  t.feed_instructions_per_k = 2;
  t.feed_wavefronts_per_k = coalesced ? 2 : 33;
  t.other_instructions_per_k = 3;
  t.reads_global_in_inner_loop = true;
  return t;
}

// Of a thread: for an element of K, and for a k tile.
struct Costs {
  double feed_instructions, feed_wavefronts, fill_instructions, fill_wavefronts, others;
};

// A square tile, whose slices of A and B lie in shared memory.
Traits in_shared_memory(int threads, int edge, int tile_k, int registers, const Costs& costs) {
  Traits t;
  t.threads = threads;
  t.tile_m = t.tile_n = edge;
  t.tile_k = tile_k;
  t.smem_bytes = 2 * edge * tile_k * 4;
  t.registers_estimate = registers;
  t.feed_instructions_per_k = costs.feed_instructions;
  t.feed_wavefronts_per_k = costs.feed_wavefronts;
  t.fill_instructions_per_tile_k = costs.fill_instructions;
  t.fill_wavefronts_per_tile_k = costs.fill_wavefronts;
  t.other_instructions_per_k = costs.others;
  t.barriers_per_tile_k = 2;
  return t;
}

Traits smem_32x32() { return in_shared_memory(1024, 32, 32, 32, {1.25, 1.25, 4, 4, 0.5}); }

Traits coarsened_1d() {
  Traits t = in_shared_memory(512, 64, 8, 40, {3, 3, 4, 8, 1});
  t.thread_m = 8;
  return t;
}

Traits tiled_2d() {
  Traits t = in_shared_memory(256, 128, 8, 128, {10, 24, 16, 28, 1});
  t.thread_m = t.thread_n = 8;
  return t;
}

Traits vectorized_2d() {
  Traits t = tiled_2d();
  t.vec = 4;
  t.registers_estimate = 116;
  t.feed_instructions_per_k = 4;
  t.feed_wavefronts_per_k = 10;
  t.fill_instructions_per_tile_k = 7;
  t.fill_wavefronts_per_tile_k = 32;
  return t;
}

double time_us(const Traits& traits, const Problem& problem, const char* arch = "sm_90") {
  return predict(traits, problem, spec(arch)).time_us;
}

TEST(StaticModelTest, LadderClimbsInTheMeasuredOrderOnTheH100) {
  // Measured shares of cuBLAS at 4096: 0.010, 0.123, 0.187, 0.384, 0.499, 0.610.
  const Problem problem = cube(4096);
  const std::vector<Traits> rungs = {naive(false),   naive(true), smem_32x32(),
                                     coarsened_1d(), tiled_2d(),  vectorized_2d()};
  for (std::size_t i = 1; i < rungs.size(); ++i) {
    EXPECT_LT(time_us(rungs[i], problem), 0.9 * time_us(rungs[i - 1], problem)) << "rung " << i;
  }
  // The two ends by order of magnitude.
  EXPECT_GT(time_us(rungs.front(), problem), 30 * time_us(rungs.back(), problem));
  EXPECT_LT(time_us(rungs.front(), problem), 100 * time_us(rungs.back(), problem));
}

TEST(StaticModelTest, UncoalescedAccessCostsAboutTheWidthOfAWarpInWavefronts) {
  EXPECT_GT(time_us(naive(false), cube(2048), "sm_120"),
            4 * time_us(naive(true), cube(2048), "sm_120"));
}

TEST(StaticModelTest, OneSizeDoesNotFitAll) {
  // 128x128 tiles fill the GPU at 4096 and leave 128 of its 132 SMs idle at 256.
  EXPECT_LT(time_us(vectorized_2d(), cube(4096)), time_us(coarsened_1d(), cube(4096)));
  EXPECT_GT(time_us(vectorized_2d(), cube(256)), time_us(coarsened_1d(), cube(256)));
  EXPECT_GT(time_us(coarsened_1d(), cube(256)), time_us(smem_32x32(), cube(256)));
}

TEST(StaticModelTest, NoPipeAloneTakesLongerThanTheWhole) {
  const Traits small = check_config(parse_config("naive/BM=8,BN=8,COALESCED=1,PRED=1")).traits;
  for (const DeviceSpec& device : device_table()) {
    for (const Traits& traits : {small, naive(false), naive(true), smem_32x32(), coarsened_1d(),
                                 tiled_2d(), vectorized_2d()}) {
      for (const Problem& problem :
           {cube(1), cube(100), cube(256), cube(1000), cube(4096), packed_problem(1, 65536, 1),
            packed_problem(65536, 1, 1), packed_problem(4, 2'000'000'000, 1)}) {
        const Prediction p = predict(traits, problem, device);
        ASSERT_TRUE(std::isfinite(p.time_us)) << device.arch;
        for (const double pipe_us :
             {p.ffma_us, p.issue_us, p.l1_us, p.l2_us, p.dram_us, p.latency_us}) {
          EXPECT_GE(pipe_us, 0) << device.arch << " at " << to_string(problem);
          EXPECT_LT(pipe_us, p.time_us) << device.arch << " at " << to_string(problem);
        }
        EXPECT_GT(p.tail_efficiency, 0);
        EXPECT_LE(p.tail_efficiency, 1);
      }
    }
  }
}

TEST(StaticModelTest, ExplainsTheA6000ExampleByItsTerms) {
  const Prediction p = predict(vectorized_2d(), cube(4096), spec("sm_86"));
  EXPECT_EQ(p.ctas_per_sm, 2);
  EXPECT_NEAR(p.occupancy, 1.0 / 3, 1e-12);
  EXPECT_NEAR(p.waves, 6.095, 0.001);
  EXPECT_NEAR(p.tail_efficiency, 6.095 / 7, 0.001);
  // 2 * 4096^3 operations at 84 SMs * 128 lanes * 2 * 1800 MHz.
  EXPECT_NEAR(p.ffma_us, 3550.7, 0.1);
}

TEST(StaticModelTest, HalfTheLanesTakeTwiceTheFfmaTime) {
  DeviceSpec half = spec("sm_90");
  half.fp32_lanes_per_sm = 64;
  const Prediction whole = predict(vectorized_2d(), cube(4096), spec("sm_90"));
  const Prediction halved = predict(vectorized_2d(), cube(4096), half);
  EXPECT_DOUBLE_EQ(halved.ffma_us, 2 * whole.ffma_us);
  EXPECT_GT(halved.time_us, 1.3 * whole.time_us);
}

TEST(StaticModelTest, OneCtaBeyondAFullWaveCostsAnotherRound) {
  // 132 SMs with two CTAs each: 264 tiles of 128 rows.
  const Problem full = packed_problem(33792, 128, 4096);
  const Problem over = packed_problem(33920, 128, 4096);
  EXPECT_GT(time_us(vectorized_2d(), over), 1.3 * time_us(vectorized_2d(), full));
  EXPECT_LT(predict(vectorized_2d(), over, spec("sm_90")).tail_efficiency, 0.51);
}

TEST(StaticModelTest, CuttingARaggedLastWaveFillsItsSms) {
  Traits whole = vectorized_2d(), cut = vectorized_2d();
  whole.registers_estimate = cut.registers_estimate = 200;  // one CTA for each of 132 SMs
  cut.tail_ctas_per_sm = 1;
  const auto share = [&](std::int64_t tiles) {
    const Problem problem = packed_problem(128 * tiles, 128, 4096);
    return time_us(cut, problem) / time_us(whole, problem);
  };
  EXPECT_DOUBLE_EQ(share(132), 1.0);
  EXPECT_LT(share(133), 0.60);          // a wave and a 132nd of one, for two
  EXPECT_NEAR(share(198), 0.79, 0.06);  // three half waves for two whole ones
  EXPECT_GT(share(132 * 9 + 131), 0.97);
}

TEST(StaticModelTest, RaggedEdgePaysForWholeTiles) {
  // 33 x 33 tiles instead of 32 x 32, as in a problem that fills them.
  const double filled = time_us(vectorized_2d(), packed_problem(4224, 4224, 4097));
  EXPECT_NEAR(time_us(vectorized_2d(), cube(4097)), filled, 1e-3 * filled);
  EXPECT_GT(time_us(vectorized_2d(), cube(4097)), 1.1 * time_us(vectorized_2d(), cube(4096)));
}

TEST(StaticModelTest, ResourcesOfTheCompiledKernelReplaceTheEstimate) {
  Resources lean;
  lean.registers = 80;
  lean.smem_bytes = 8192;
  Resources fat = lean;
  fat.registers = 168;
  const auto with = [](const Resources& resources) {
    return predict(vectorized_2d(), cube(4096), spec("sm_90"), resources);
  };
  EXPECT_EQ(with(lean).ctas_per_sm, 3);
  EXPECT_EQ(with(fat).ctas_per_sm, 1);
  EXPECT_LT(with(lean).latency_us, with(fat).latency_us);
  EXPECT_LT(with(lean).time_us, with(fat).time_us);
}

TEST(StaticModelTest, SpillingAccumulatorsIsRuinous) {
  Resources resources;
  resources.registers = 255;
  const double clean = predict(vectorized_2d(), cube(4096), spec("sm_90"), resources).time_us;
  resources.spill_bytes = 16;
  const double slight = predict(vectorized_2d(), cube(4096), spec("sm_90"), resources).time_us;
  resources.spill_bytes = 1024;
  const double heavy = predict(vectorized_2d(), cube(4096), spec("sm_90"), resources).time_us;
  EXPECT_GT(slight, clean);
  EXPECT_LT(slight, 1.5 * clean);
  EXPECT_GT(heavy, 10 * clean);
  EXPECT_LT(heavy, 30 * clean);
}

TEST(StaticModelTest, EstimateBeyondTheRegisterFileCountsAsSpills) {
  Traits fits = vectorized_2d(), spills = vectorized_2d();
  fits.registers_estimate = 255;
  spills.registers_estimate = 320;
  EXPECT_EQ(predict(fits, cube(4096), spec("sm_90")).ctas_per_sm, 1);
  EXPECT_EQ(predict(spills, cube(4096), spec("sm_90")).ctas_per_sm, 1);
  EXPECT_GT(time_us(spills, cube(4096)), 3 * time_us(fits, cube(4096)));
}

// A CTA of warp_tiled as recorded at 1024: 64x128 by 8x16, WARPS_K groups of two warps.
Traits warp_tile(int bk, int warps_k) {
  Traits t;
  t.threads = 64 * warps_k;
  t.tile_m = 64;
  t.tile_n = 128;
  t.tile_k = bk;
  t.thread_m = 8;
  t.thread_n = 16;
  t.threads_along_k = warps_k;
  t.stages = 2;
  t.smem_bytes = 4 * 2 * bk * (64 + 128);
  t.registers_estimate = 230;
  t.feed_instructions_per_k = 6.0 / warps_k;
  t.feed_wavefronts_per_k = 12.0 / warps_k;
  t.fill_instructions_per_tile_k = bk / 2.0;
  t.fill_wavefronts_per_tile_k = bk;
  t.barriers_per_tile_k = 1;
  t.unrolled_k = bk / warps_k;
  t.feeds_ahead = true;
  t.end_barriers = 2 * (warps_k - 1);
  t.end_wavefronts = (warps_k - 1) * 512;
  return t;
}

TEST(StaticModelTest, AMainLoopBeyondTheInstructionCacheIsSlowForALoneWarp) {
  // Measured at 1024: 52.6 and 78.7 us with 8 and 16 k steps of 128 FFMAs unrolled.
  EXPECT_GT(time_us(warp_tile(32, 2), cube(1024)), 1.3 * time_us(warp_tile(16, 2), cube(1024)));
  // Measured at 1024 with 8 steps either way: 48.3 and 50.5 us.
  EXPECT_NEAR(time_us(warp_tile(32, 4), cube(1024)) / time_us(warp_tile(16, 4), cube(1024)), 1.0,
              0.05);
}

TEST(StaticModelTest, TwoWarpsPerSchedulerHideWhatOneWaitsFor) {
  // Measured at 1024: 52.6 and 48.3 us.
  const double one = time_us(warp_tile(16, 2), cube(1024));
  const double two = time_us(warp_tile(16, 4), cube(1024));
  EXPECT_GT(one, 1.04 * two);
  EXPECT_LT(one, 1.15 * two);
}

TEST(StaticModelTest, FeedsOfTheNextStepAreBetterThanFeedsOfThisOne) {
  Traits late = warp_tile(16, 2);
  late.feeds_ahead = false;
  EXPECT_GT(time_us(late, cube(1024)), time_us(warp_tile(16, 2), cube(1024)));
}

TEST(StaticModelTest, OperandsLoadedLateCostTwoPercentWhereRegistersLetThemBeEarly) {
  Traits late = warp_tile(16, 2);
  late.feeds_ahead = false;
  ModelConstants unaware;
  unaware.late_operands_factor = 1;
  const auto ratio = [&](const Traits& traits, const char* arch) {
    return time_us(traits, cube(4096), arch) /
           predict(traits, cube(4096), spec(arch), std::nullopt, unaware).time_us;
  };
  EXPECT_NEAR(ratio(late, "sm_90"), 1.02, 0.001);
  EXPECT_NEAR(ratio(late, "sm_86"), 1.019, 0.001);  // part of it is waiting for DRAM
  EXPECT_EQ(ratio(warp_tile(16, 2), "sm_86"), 1);
  late.registers_estimate = 255;  // 24 more for a second set of operands, and 24 can be spared
  EXPECT_GT(ratio(late, "sm_86"), 1.01);
  late.registers_estimate = 256;
  EXPECT_EQ(ratio(late, "sm_86"), 1);
}

// A config of warp_tiled at 3072 by the counted model alone over the time without one of its
// constants.
double share_of(const ModelConstants& unaware, const std::string& config) {
  const Traits traits =
      check_config(parse_config("warp_tiled/CLUSTER=0," + config + ",TA=0,TB=0,PRED=0")).traits;
  const auto counted_us = [&](const ModelConstants& constants) {
    return predict(traits, cube(3072), spec("sm_90"), std::nullopt, constants).time_us;
  };
  return counted_us(ModelConstants()) / counted_us(unaware);
}

// Timed on an H200 (2026-11-29): 1221 us with ASYNC=2, 1107 with ASYNC=1.
TEST(StaticModelTest, CopiesThatWaitInRegistersCostFourPercentWhereEightWarpsWaitForEachOther) {
  ModelConstants unaware;
  unaware.waiting_copies_factor = 1;
  const auto share = [&](const std::string& tile, const std::string& copies) {
    return share_of(unaware, tile + ",BK=8,WM=128,WN=32,TM=16,TN=8,WARPS_K=1," + copies +
                                 ",VEC=4,RASTER=8,CTAS=1,SPLIT_K=1,TAIL=0");
  };
  EXPECT_NEAR(share("BM=128,BN=256", "STAGES=5,ASYNC=2,FRAGMENTS=2"), 1.04, .001);
  EXPECT_NEAR(share("BM=128,BN=256", "STAGES=1,ASYNC=0,FRAGMENTS=1"), 1.04, .001);
  EXPECT_EQ(share("BM=128,BN=256", "STAGES=5,ASYNC=1,FRAGMENTS=2"), 1);
  EXPECT_EQ(share("BM=128,BN=128", "STAGES=5,ASYNC=2,FRAGMENTS=2"), 1);
}

TEST(StaticModelTest, StagesBeyondTheLatencyCostALittle) {
  Traits deep = warp_tile(16, 4);
  deep.stages = 4;
  const double shallow_us = time_us(warp_tile(16, 4), cube(1024));
  EXPECT_GT(time_us(deep, cube(1024)), shallow_us);
  EXPECT_LT(time_us(deep, cube(1024)), 1.02 * shallow_us);
}

TEST(StaticModelTest, AddingUpAlongKCostsAShortProductMore) {
  const auto loss = [](std::int64_t k) {
    Traits plain = warp_tile(16, 4);
    plain.end_barriers = 0;
    plain.end_wavefronts = 0;
    const Problem problem = packed_problem(1024, 1024, k);
    return time_us(warp_tile(16, 4), problem) / time_us(plain, problem);
  };
  EXPECT_GT(loss(128), 1.08);
  EXPECT_LT(loss(8192), 1.02);
}

TEST(StaticModelTest, LaunchBoundsLeaveRoomForTheCtasTheyName) {
  Traits two = vectorized_2d();
  two.registers_estimate = 140;
  EXPECT_EQ(predict(two, cube(4096), spec("sm_90")).ctas_per_sm, 1);
  two.least_ctas_per_sm = 2;
  EXPECT_EQ(predict(two, cube(4096), spec("sm_90")).ctas_per_sm, 2);
}

TEST(StaticModelTest, WhatDoesNotFitTakesForever) {
  Traits traits = vectorized_2d();
  traits.smem_bytes = 100 * 1024;
  const Prediction p = predict(traits, cube(1024), spec("sm_86"));
  EXPECT_EQ(p.ctas_per_sm, 0);
  EXPECT_EQ(p.time_us, std::numeric_limits<double>::infinity());
}

TEST(StaticModelTest, EmptyReductionStillWritesC) {
  const Prediction p = predict(vectorized_2d(), packed_problem(4096, 4096, 0), spec("sm_90"));
  EXPECT_EQ(p.ffma_us, 0);
  EXPECT_EQ(p.flops_per_dram_byte, 0);
  // 67 MB at 2.98 TB/s.
  EXPECT_NEAR(p.dram_us, 22.5, 0.1);
  EXPECT_GT(p.time_us, p.dram_us);
}

TEST(StaticModelTest, OperandsThatFitTheL2ComeFromDramOnce) {
  // A, B and C of 1024 x 1024: 12 MiB; 2 * 1024^3 / 12 MiB is 170.7 operations a byte.
  EXPECT_NEAR(predict(vectorized_2d(), cube(1024), spec("sm_90")).flops_per_dram_byte, 170.7, 0.1);
  // The same on 4 MiB of L2 reads B once more for every wave.
  EXPECT_LT(predict(naive(true), cube(1024), spec("sm_75")).flops_per_dram_byte, 150);
}

TEST(StaticModelTest, ThinSlicesWasteSectors) {
  Traits thin = vectorized_2d();
  thin.tile_k = 4;
  EXPECT_GT(predict(thin, cube(4096), spec("sm_90")).l2_us,
            1.4 * predict(vectorized_2d(), cube(4096), spec("sm_90")).l2_us);
}

TEST(StaticModelTest, EachArchitectureHasTheConstantsOfItsProfile) {
  // Of all SMs at 39 bytes a cycle, 20 on sm_75 and 47 on sm_80.
  for (const auto& [arch, rate] :
       {std::pair{"sm_90", 39}, {"sm_86", 39}, {"sm_75", 20}, {"sm_80", 47}, {"sm_100", 39}}) {
    ModelConstants constants;
    constants.l2_bytes_per_cycle_per_sm = rate;
    const Prediction own = predict(vectorized_2d(), cube(1024), spec(arch));
    const Prediction expected =
        predict(vectorized_2d(), cube(1024), spec(arch), std::nullopt, constants);
    EXPECT_EQ(own.time_us, expected.time_us) << arch;
    EXPECT_EQ(own.l2_us, expected.l2_us) << arch;
  }
}

// Recorded on an H100: 128 CTAs in clusters of 4 take twice as long as those in clusters of 2.
TEST(StaticModelTest, LargeClustersReachFewerSms) {
  Traits pair = vectorized_2d(), four = vectorized_2d();
  pair.registers_estimate = four.registers_estimate = 200;  // one CTA for each of 132 SMs
  pair.split_k = pair.cluster_ctas = 2;
  four.split_k = four.cluster_ctas = 4;
  // 128 CTAs that each multiply 128 slices, and the same of twice as many tiles.
  const double of_pairs = time_us(pair, packed_problem(1024, 1024, 2048));
  const double of_fours = time_us(four, packed_problem(1024, 512, 4096));
  EXPECT_NEAR(of_fours / of_pairs, 2, 0.1);
}

// Four tiles of 64 x 256 whose 132 pieces along K run at once.
Traits of_few_tiles() {
  Traits t = vectorized_2d();
  t.tile_m = 64;
  t.tile_n = 256;
  t.registers_estimate = 200;
  t.tail_ctas_per_sm = 1;
  return t;
}

TEST(StaticModelTest, AWaveOfPiecesReadsBothOperandsOnce) {
  const Prediction prediction =
      predict(of_few_tiles(), packed_problem(256, 256, 65536), spec("sm_90"));
  const double floats = 2.0 * 256 * 65536 + 256 * 256;
  EXPECT_NEAR(prediction.flops_per_dram_byte, 2.0 * 256 * 256 * 65536 / (4 * floats), 0.01);
}

// Recorded on an H100 (2026-11-26): 138.8 and 159.4 us; 93.7 and 93.5 were predicted where all SMs
// were taken to end together.
TEST(StaticModelTest, PiecesOfTilesThatAllBeginTogetherDoNotEndTogether) {
  const auto us = [](const char* config) {
    return predict(check_config(parse_config(config)).traits, packed_problem(1280, 1280, 1280),
                   find_device_spec("sm_90").value())
        .time_us;
  };
  EXPECT_GT(us("warp_tiled/CLUSTER=0,BM=128,BN=128,BK=8,WM=64,WN=64,TM=16,TN=8,WARPS_K=1,STAGES=2,"
               "ASYNC=0,FRAGMENTS=2,VEC=4,RASTER=8,CTAS=1,SPLIT_K=1,TAIL=1,TA=0,TB=0,PRED=0"),
            120);
  EXPECT_GT(us("warp_tiled/CLUSTER=0,BM=64,BN=128,BK=8,WM=32,WN=128,TM=8,TN=16,WARPS_K=1,STAGES=2,"
               "ASYNC=0,FRAGMENTS=2,VEC=4,RASTER=8,CTAS=1,SPLIT_K=1,TAIL=3,TA=0,TB=0,PRED=0"),
            115);
}

// Recorded on an H200 (2026-11-28): 148.2, 158.6 and 200.9 us. With TAIL=1, 264 of 288 tiles are
// whole; it was predicted 1.3 % slower than TAIL=3 as long as adding up came behind them.
TEST(StaticModelTest, PiecesThatEndBeforeWholeTilesAreAddedUpBesideThem) {
  const auto us = [](const char* tail) {
    const std::string config =
        "warp_tiled/CLUSTER=0,BM=64,BN=128,BK=16,WM=64,WN=32,TM=8,TN=8,WARPS_K=1,STAGES=2,ASYNC=2,"
        "FRAGMENTS=2,VEC=4,RASTER=8,CTAS=1,SPLIT_K=1,TAIL=";
    return predict(check_config(parse_config(config + tail + ",TA=0,TB=0,PRED=0")).traits,
                   packed_problem(1536, 1536, 1536), find_device_spec("sm_90").value())
        .time_us;
  };
  EXPECT_LT(us("1"), .99 * us("3"));
  EXPECT_LT(us("1"), .99 * us("2"));
}

// Of 576 tiles, two of them resident. Timed on an H200 (2026-11-29): 1273 us with TAIL=1, 1133 with
// TAIL=2, 1276 with TAIL=3.
TEST(StaticModelTest, ACutForAnotherNumberOfResidentsDoesNotFillItsSms) {
  ModelConstants unaware;
  unaware.uneven_turns_factor = 1;
  const auto share = [&](const std::string& tile, const std::string& tail) {
    return share_of(unaware, tile +
                                 ",BK=8,WM=128,WN=32,TM=16,TN=8,WARPS_K=1,STAGES=2,ASYNC=1,"
                                 "FRAGMENTS=2,VEC=4,RASTER=8,CTAS=1,SPLIT_K=1,TAIL=" +
                                 tail);
  };
  EXPECT_NEAR(share("BM=128,BN=128", "1"), 1.03, .002);
  EXPECT_EQ(share("BM=128,BN=128", "2"), 1);
  EXPECT_NEAR(share("BM=128,BN=128", "3"), 1.03, .002);
  // One is resident: two and three turns of it end together.
  for (const char* tail : {"1", "2", "3"}) EXPECT_EQ(share("BM=128,BN=256", tail), 1) << tail;
}

// One CTA reads 16 MiB of shares a tile, or all SMs do.
TEST(StaticModelTest, ALaunchAfterAddsUpManySharesSooner) {
  Traits last = of_few_tiles(), after = of_few_tiles();
  after.reduce = true;
  const Problem large_k = packed_problem(256, 256, 65536);
  EXPECT_LT(time_us(after, large_k), time_us(last, large_k) - 5);
  last.tail_ctas_per_sm = after.tail_ctas_per_sm = 0;
  last.split_k = after.split_k = 2;
  last.tile_m = after.tile_m = last.tile_n = after.tile_n = 32;
  const Problem small = packed_problem(256, 256, 1024);
  EXPECT_NEAR(time_us(after, small), time_us(last, small), 1);
}

// A CTA of mma: four warps of 64x64, slices of 32 in three stages.
Traits on_tensor_cores(const Signature& signature) {
  Traits t = in_shared_memory(128, 128, 32, 200, {0.5, 2, 8, 32, 0});
  t.signature = signature;
  t.unrolled_k = 32;
  t.thread_m = 8;
  t.thread_n = 16;
  t.stages = 3;
  t.smem_bytes = 3 * 2 * 128 * 32 * 2;
  t.barriers_per_tile_k = 1;
  return t;
}

// TFLOP/s of the data sheets, f16 with fp32 sums, without sparsity.
TEST(StaticModelTest, TensorCoresMultiplyAtTheRatesOfTheDataSheets) {
  const Traits f16 = on_tensor_cores(signature_of(ElementType::f16));
  const double tera = flops(cube(4096)) * 1e-6;
  for (const auto& [arch, tflops] : {std::pair{"sm_75", 65.0},
                                     {"sm_80", 312.0},
                                     {"sm_86", 154.8},
                                     {"sm_89", 165.2},
                                     {"sm_90", 0.62 * 989.4 * 1980 / 1830},
                                     {"sm_120", 209.5}}) {
    const Prediction p = predict(f16, cube(4096), spec(arch));
    EXPECT_NEAR(tera / p.tensor_us / tflops, 1, 0.01) << arch;
    EXPECT_EQ(p.ffma_us, 0) << arch;
    EXPECT_GT(p.time_us, p.tensor_us) << arch;
    EXPECT_LT(p.time_us, 2 * p.tensor_us) << arch;
  }
  EXPECT_EQ(predict(vectorized_2d(), cube(4096), spec("sm_80")).tensor_us, 0);
}

// A100: 156 TFLOP/s; RTX 3090: 35.6.
TEST(StaticModelTest, TensorCoresMultiplyTf32AtHalfTheRateOfF16) {
  const Traits f16 = on_tensor_cores(signature_of(ElementType::f16, ElementType::f32));
  const Traits tf32 = on_tensor_cores(parse_signature("f32+tf32"));
  for (const char* arch : {"sm_80", "sm_86", "sm_89", "sm_90", "sm_120"}) {
    EXPECT_DOUBLE_EQ(predict(tf32, cube(4096), spec(arch)).tensor_us,
                     2 * predict(f16, cube(4096), spec(arch)).tensor_us);
  }
}

// Three products of f16 parts, and the launch that reads 4 bytes of each element and writes 4.
TEST(StaticModelTest, ProductsOfPartsTakeThreeInstructionsAndALaunchBefore) {
  const Traits f16 = on_tensor_cores(signature_of(ElementType::f16, ElementType::f32));
  const Traits parts = on_tensor_cores(parse_signature("f32+fp32_f16x3"));
  const DeviceSpec a100 = spec("sm_80");
  const Prediction of_parts = predict(parts, cube(4096), a100);
  EXPECT_DOUBLE_EQ(of_parts.tensor_us, 3 * predict(f16, cube(4096), a100).tensor_us);
  const double moved_us = 2 * 4096.0 * 4096 * 8 / (a100.dram_gb_per_s * 1e3 * 0.89);
  EXPECT_NEAR(of_parts.repack_us, moved_us, 1);
}

TEST(StaticModelTest, AGeForceSumsInFp32AtHalfTheRate) {
  const Traits bf16 = on_tensor_cores(signature_of(ElementType::bf16, ElementType::f32));
  DeviceSpec geforce = spec("sm_86");
  geforce.name = "NVIDIA GeForce RTX 3090";
  EXPECT_DOUBLE_EQ(predict(bf16, cube(4096), geforce).tensor_us,
                   2 * predict(bf16, cube(4096), spec("sm_86")).tensor_us);
  const Traits in_fp16 = on_tensor_cores(parse_signature("f16/f16/f32/f32+sums_fp16"));
  EXPECT_DOUBLE_EQ(predict(in_fp16, cube(4096), geforce).tensor_us,
                   predict(in_fp16, cube(4096), spec("sm_86")).tensor_us);
}

TEST(StaticModelTest, TrafficHasTheSizesOfTheElements) {
  // A, B and D of 1024 x 1024, from 2 * 1024^3 operations: 6 MiB, and 8 where D is of fp32.
  const auto intensity = [](const Signature& signature) {
    return predict(on_tensor_cores(signature), cube(1024), spec("sm_90")).flops_per_dram_byte;
  };
  EXPECT_NEAR(intensity(signature_of(ElementType::f16)), 341.3, 0.1);
  EXPECT_NEAR(intensity(signature_of(ElementType::f16, ElementType::f32)), 256, 0.1);
  // The same slices of elements of half the size, of which a sector holds twice as many.
  Traits half = vectorized_2d();
  half.tile_k = 16;
  half.signature.a = half.signature.b = half.signature.d = ElementType::f16;
  Traits whole = half;
  whole.signature = {};
  EXPECT_DOUBLE_EQ(predict(whole, cube(1024), spec("sm_90")).l2_us,
                   2 * predict(half, cube(1024), spec("sm_90")).l2_us);
}

// As recorded for FFMAs only.
TEST(StaticModelTest, TensorCoresPayNothingForOperandsLoadedLate) {
  Traits late = on_tensor_cores(signature_of(ElementType::f16));
  EXPECT_FALSE(loads_operands_late(late, spec("sm_90"), ModelConstants()));
  late.signature = {};
  EXPECT_TRUE(loads_operands_late(late, spec("sm_90"), ModelConstants()));
}

TEST(StaticModelTest, ConstantsCanBeReplaced) {
  ModelConstants constants;
  constants.launch_us = 100.5;
  EXPECT_NEAR(predict(vectorized_2d(), cube(1024), spec("sm_90"), std::nullopt, constants).time_us,
              time_us(vectorized_2d(), cube(1024)) + 100, 1e-6);
}

TEST(StaticModelTest, NoLaunchIsShorterThanAnyThatWasTimedAndShorterOnesKeepTheirOrder) {
  const auto at = [](std::int64_t n) {
    return predict(naive(true), packed_problem(1, n, 1), spec("sm_90")).time_us;
  };
  EXPECT_GE(at(1), 1.5);
  EXPECT_LT(at(1), 1.8);
  EXPECT_LT(at(7919), at(1'000'000));
}

TEST(StaticModelTest, WhatTheL2KeepsDoesNotComeFromDramAgain) {
  const auto dram_us = [](const char* keep) {
    return predict(
               check_config(
                   parse_config(
                       std::string("skinny/CLUSTER=0,BS=1,TL=4,WARPS=8,LANES_K=1,UNROLL=8,VEC=4,"
                                   "SPLIT_K=8,SKINNY_N=0,TA=0,TB=0,PRED=0,KEEP=") +
                       keep))
                   .traits,
               packed_problem(1, 4096, 4096), find_device_spec("sm_90").value())
        .dram_us;
  };
  EXPECT_NEAR(dram_us("4") / dram_us("0"), 0.75, 0.001);
  EXPECT_LT(dram_us("6"), dram_us("4"));
  EXPECT_GT(dram_us("16"), dram_us("6"));  // more than the L2 keeps
}

}  // namespace
}  // namespace gemm_tune
