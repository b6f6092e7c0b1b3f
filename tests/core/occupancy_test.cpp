// SPDX-License-Identifier: Apache-2.0
#include "core/device/occupancy.h"

#include <gtest/gtest.h>

namespace gemm_tune {
namespace {

DeviceSpec spec(const char* arch) { return find_device_spec(arch).value(); }

TEST(OccupancyTest, A6000With128RegistersHoldsTwoCtasOf256Threads) {
  const Occupancy result = occupancy(spec("sm_86"), 256, 128, 8192);
  EXPECT_EQ(result.ctas_per_sm, 2);
  EXPECT_EQ(result.limiter, OccupancyLimiter::registers);
  EXPECT_NEAR(result.fraction, 1.0 / 3, 1e-12);
}

TEST(OccupancyTest, A6000With116RegistersHoldsNoMoreThanWith128) {
  EXPECT_EQ(occupancy(spec("sm_86"), 256, 116, 8192).ctas_per_sm, 2);
}

TEST(OccupancyTest, ThirdCtaNeedsEightyRegistersByTheAllocationUnit) {
  for (int registers = 81; registers <= 88; ++registers) {
    EXPECT_EQ(occupancy(spec("sm_86"), 256, registers, 8192).ctas_per_sm, 2) << registers;
  }
  EXPECT_EQ(occupancy(spec("sm_86"), 256, 80, 8192).ctas_per_sm, 3);
}

TEST(OccupancyTest, RegistersAreGivenOutPerSubPartition) {
  // 168 registers: 3 warps in each quarter of 16,384, so 12 warps where 65,536 / 5,376 is 12.19;
  // 224: 2 in each quarter, so 8 where 65,536 / 7,168 is 9.14.
  EXPECT_EQ(occupancy(spec("sm_90"), 32, 168, 0).ctas_per_sm, 12);
  EXPECT_EQ(occupancy(spec("sm_90"), 32, 224, 0).ctas_per_sm, 8);
}

TEST(OccupancyTest, ReservedSharedMemoryCountsAgainstTheSm) {
  // 100 KiB per SM: four CTAs of 24 KiB + 1 KiB fill it, four of 24 KiB + 1 KiB + 4 B do not fit.
  const Occupancy fits = occupancy(spec("sm_86"), 128, 32, 24 * 1024);
  EXPECT_EQ(fits.ctas_per_sm, 4);
  EXPECT_EQ(fits.limiter, OccupancyLimiter::smem);
  EXPECT_EQ(occupancy(spec("sm_86"), 128, 32, 24 * 1024 + 4).ctas_per_sm, 3);
}

TEST(OccupancyTest, LimiterNamesWarpsAndCtas) {
  EXPECT_EQ(occupancy(spec("sm_90"), 1024, 32, 0).limiter, OccupancyLimiter::warps);
  EXPECT_EQ(occupancy(spec("sm_90"), 1024, 32, 0).ctas_per_sm, 2);
  EXPECT_EQ(occupancy(spec("sm_90"), 1024, 32, 0).fraction, 1.0);
  EXPECT_EQ(occupancy(spec("sm_90"), 32, 16, 0).limiter, OccupancyLimiter::ctas);
  EXPECT_EQ(occupancy(spec("sm_90"), 32, 16, 0).ctas_per_sm, 32);
  EXPECT_EQ(occupancy(spec("sm_90"), 32, 16, 0).fraction, 0.5);
}

TEST(OccupancyTest, PartOfAWarpTakesAWholeOne) {
  EXPECT_EQ(occupancy(spec("sm_90"), 33, 128, 0).ctas_per_sm,
            occupancy(spec("sm_90"), 64, 128, 0).ctas_per_sm);
}

TEST(OccupancyTest, WhatCannotRunAtAllIsImpossible) {
  const Occupancy cases[] = {
      occupancy(spec("sm_86"), 1025, 16, 0),           // threads of one CTA
      occupancy(spec("sm_86"), 32, 256, 0),            // registers of one thread
      occupancy(spec("sm_86"), 1024, 72, 0),           // registers of one CTA
      occupancy(spec("sm_86"), 32, 16, 99 * 1024 + 1)  // shared memory of one CTA
  };
  for (const Occupancy& result : cases) {
    EXPECT_EQ(result.ctas_per_sm, 0);
    EXPECT_EQ(result.limiter, OccupancyLimiter::impossible);
    EXPECT_EQ(result.fraction, 0.0);
  }
  EXPECT_EQ(occupancy(spec("sm_86"), 32, 16, 99 * 1024).ctas_per_sm, 1);
  EXPECT_EQ(occupancy(spec("sm_86"), 1024, 64, 0).ctas_per_sm, 1);
}

TEST(OccupancyTest, LimitersHaveNames) {
  EXPECT_EQ(to_string(OccupancyLimiter::warps), "warps");
  EXPECT_EQ(to_string(OccupancyLimiter::ctas), "ctas");
  EXPECT_EQ(to_string(OccupancyLimiter::registers), "registers");
  EXPECT_EQ(to_string(OccupancyLimiter::smem), "smem");
  EXPECT_EQ(to_string(OccupancyLimiter::impossible), "impossible");
}

TEST(WavesTest, Grid32By32OnTheA6000EndsInATailOf16) {
  const Waves result = waves(spec("sm_86"), 1024, 2);
  EXPECT_NEAR(result.waves, 6.10, 0.005);
  EXPECT_EQ(result.tail_ctas, 16);
}

TEST(WavesTest, FullWavesHaveNoTail) {
  EXPECT_EQ(waves(spec("sm_86"), 336, 2).waves, 2.0);
  EXPECT_EQ(waves(spec("sm_86"), 336, 2).tail_ctas, 0);
}

TEST(WavesTest, SmallGridIsAllTail) {
  EXPECT_EQ(waves(spec("sm_86"), 1, 16).tail_ctas, 1);
  EXPECT_NEAR(waves(spec("sm_86"), 1, 16).waves, 1.0 / 1344, 1e-12);
}

}  // namespace
}  // namespace gemm_tune
