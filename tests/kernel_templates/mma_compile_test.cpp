// SPDX-License-Identifier: Apache-2.0
// Families of tensor cores through the real compiler, mma for every architecture that it serves; no
// GPU is needed.
#include <gtest/gtest.h>

#include <string>

#include "gpu/compile/nvrtc.h"
#include "gpu/compile/ptxas_log.h"
#include "kernel_templates/source/source.h"
#include "tests/kernel_templates/spaces.h"

namespace gemm_tune {
namespace {

CompileResult compile(const KnownConfig& config, const std::string& arch) {
  const KernelSource source = kernel_source(*config.family);
  return nvrtc_compile({source.path, source.text, source.headers}, compile_definitions(config),
                       arch);
}

void expect_clean(const std::string& text, int sm) {
  const std::string arch = "sm_" + std::to_string(sm);
  const KnownConfig config = known(text);
  EXPECT_LE(config.traits.least_sm, sm) << text;
  const CompileResult result = compile(config, arch);
  ASSERT_TRUE(result.ok) << text << " on " << arch << ": " << result.log;
  EXPECT_EQ(result.resources.spill_bytes, 0) << text << " on " << arch;
  EXPECT_EQ(result.resources.stack_bytes, 0) << text << " on " << arch;
}

// The log of ptxas is where sums that wait for each other show.
void expect_unserialised(std::string_view text) {
  const KnownConfig config = known(text);
  const CompileResult result = compile(config, compile_target(config, "sm_90"));
  ASSERT_TRUE(result.ok) << text << ": " << result.log;
  EXPECT_EQ(result.resources.spill_bytes, 0) << text;
  EXPECT_EQ(serialised_wgmma(result.log), std::nullopt) << text;
}

TEST(PartsCompile, WithoutSpillsOrSerialisedInstructions) {
  for (const char* text :
       {"wgmma_parts/BM=128,BN=128,GROUPS=2,PROMOTE=32,TA=0,TB=1",
        "wgmma_parts/BM=64,BN=64,GROUPS=1,PROMOTE=32,TA=1,TB=1,ACCURACY=4",
        "wgmma_parts/BM=128,BN=144,GROUPS=2,PROMOTE=64,TA=0,TB=0,ACCURACY=4,TYPE_B=2",
        "wgmma_parts/BM=64,BN=64,GROUPS=1,PROMOTE=64,TA=1,TB=1,ACCURACY=4,TYPE_A=2"}) {
    expect_unserialised(text);
  }
}

TEST(MorePartsCompile, WithoutSpillsOrSerialisedInstructions) {
  for (const char* text :
       {"wgmma_parts/BM=64,BN=128,GROUPS=1,PROMOTE=32,TA=1,TB=0",
        "wgmma_parts/BM=128,BN=144,GROUPS=2,PROMOTE=64,TA=0,TB=0,ACCURACY=4",
        "wgmma_parts/BM=128,BN=128,GROUPS=2,PROMOTE=64,TA=0,TB=1,ACCURACY=4,TYPE_B=2",
        "wgmma_parts/BM=128,BN=128,GROUPS=2,PROMOTE=32,TA=1,TB=0,TYPE_B=1"}) {
    expect_unserialised(text);
  }
}

// By mma.sync, the largest warp tiles and those that go through registers. What splits
// operands may spill, which its resources are not asked for. Those of two types, whose slices lie
// as their rows do, have the architectures that these lack.
TEST(PartsCompile, ByMmaWithoutSpills) {
  expect_clean("mma_parts/BM=128,BN=64,BK=32,WM=32,WN=32,MMA_K=8,STAGES=2,TA=0,TB=0", 75);
  expect_clean("mma_parts/BM=128,BN=128,BK=32,WM=64,WN=32,MMA_K=16,STAGES=3,TA=0,TB=0", 80);
  expect_clean("mma_parts/BM=64,BN=64,BK=32,WM=32,WN=32,MMA_K=16,STAGES=4,TA=1,TB=1", 90);
  expect_clean("mma_parts/BM=128,BN=64,BK=32,WM=64,WN=32,MMA_K=16,STAGES=2,TA=0,TB=0,ACCURACY=4",
               80);
}

TEST(MorePartsCompile, ByMmaWithoutSpills) {
  expect_clean("mma_parts/BM=128,BN=64,BK=64,WM=32,WN=32,MMA_K=16,STAGES=2,TA=1,TB=0", 86);
  expect_clean("mma_parts/BM=128,BN=128,BK=32,WM=32,WN=64,MMA_K=16,STAGES=3,TA=0,TB=1", 89);
  expect_clean("mma_parts/BM=128,BN=96,BK=32,WM=32,WN=48,MMA_K=16,STAGES=3,TA=0,TB=0", 120);
}

const std::string kWide = "mma_parts/BM=128,BN=128,BK=32,WM=64,WN=32,MMA_K=16,STAGES=3,";

TEST(PartsCompile, OfTwoTypesByMmaWithoutSpills) {
  expect_clean(kWide + "TA=1,TB=1,ACCURACY=4,TYPE_A=2", 86);
  expect_clean(kWide + "TA=1,TB=0,TYPE_B=1", 89);
  expect_clean(kWide + "TA=1,TB=0,ACCURACY=4,TYPE_B=2", 120);
}

TEST(MorePartsCompile, OfTwoTypesByMmaWithoutSpills) {
  expect_clean("mma_parts/BM=64,BN=64,BK=32,WM=32,WN=32,MMA_K=8,STAGES=2,TA=0,TB=0,TYPE_B=1", 75);
  expect_clean(kWide + "TA=0,TB=1,ACCURACY=4,TYPE_B=2", 80);
  expect_clean(kWide + "TA=0,TB=0,ACCURACY=4,TYPE_B=2", 90);
}

// Between them every layout, type, way of copying and kind of edge; on sm_90 are the skinny tiles.
TEST(MmaCompile, WithoutSpillsOnEveryArchitecture) {
  expect_clean(
      "mma/AB=1,CD=1,BM=128,BN=64,BK=32,WM=32,WN=64,MMA_K=8,STAGES=2,ASYNC=0,VEC=8,RASTER=8,"
      "SPLIT_K=2,TA=1,TB=0,PRED=0",
      75);
  expect_clean(
      "mma/AB=1,CD=0,BM=64,BN=64,BK=32,WM=32,WN=32,MMA_K=8,STAGES=2,ASYNC=0,VEC=4,RASTER=8,"
      "SPLIT_K=1,TA=0,TB=1,PRED=1",
      75);
  expect_clean(
      "mma/AB=1,CD=0,BM=128,BN=96,BK=32,WM=64,WN=48,MMA_K=16,STAGES=3,ASYNC=1,VEC=8,RASTER=8,"
      "SPLIT_K=1,TA=1,TB=1,PRED=0",
      80);
  expect_clean(
      "mma/AB=2,CD=2,BM=64,BN=64,BK=64,WM=32,WN=32,MMA_K=16,STAGES=4,ASYNC=1,VEC=2,RASTER=8,"
      "SPLIT_K=1,TA=0,TB=1,PRED=1",
      86);
  expect_clean(
      "mma/AB=2,CD=0,BM=64,BN=64,BK=32,WM=32,WN=32,MMA_K=16,STAGES=2,ASYNC=1,VEC=1,RASTER=8,"
      "SPLIT_K=1,TA=0,TB=0,PRED=1",
      89);
  expect_clean(
      "mma/AB=0,CD=0,BM=128,BN=64,BK=32,WM=64,WN=32,MMA_K=8,STAGES=3,ASYNC=1,VEC=4,RASTER=8,"
      "SPLIT_K=1,TA=1,TB=0,PRED=0,ACCURACY=2",
      80);
  expect_clean(
      "mma/AB=0,CD=0,BM=64,BN=96,BK=16,WM=32,WN=48,MMA_K=8,STAGES=4,ASYNC=1,VEC=1,RASTER=8,"
      "SPLIT_K=1,TA=0,TB=0,PRED=1,ACCURACY=2",
      120);
  expect_clean(
      "mma/AB=1,CD=0,BM=64,BN=64,BK=32,WM=32,WN=32,MMA_K=8,STAGES=2,ASYNC=0,VEC=8,RASTER=8,"
      "SPLIT_K=1,TA=0,TB=1,PRED=1,ACCURACY=6",
      75);
}

TEST(MoreMmaCompile, LargeTilesWithoutSpills) {
  expect_clean(
      "mma/AB=2,CD=2,BM=128,BN=128,BK=64,WM=64,WN=64,MMA_K=16,STAGES=4,ASYNC=1,VEC=8,RASTER=8,"
      "SPLIT_K=1,TA=0,TB=0,PRED=0",
      90);
  expect_clean(
      "mma/AB=1,CD=1,BM=128,BN=128,BK=32,WM=64,WN=32,MMA_K=16,STAGES=4,ASYNC=1,VEC=8,RASTER=8,"
      "SPLIT_K=4,TA=0,TB=0,PRED=1",
      120);
  expect_clean(
      "mma/AB=0,CD=0,BM=128,BN=128,BK=16,WM=64,WN=64,MMA_K=8,STAGES=4,ASYNC=1,VEC=4,RASTER=8,"
      "SPLIT_K=2,TA=0,TB=1,PRED=1,ACCURACY=2",
      89);
  expect_clean(
      "mma/AB=1,CD=1,BM=128,BN=128,BK=32,WM=64,WN=32,MMA_K=16,STAGES=3,ASYNC=1,VEC=8,RASTER=8,"
      "SPLIT_K=1,TA=0,TB=0,PRED=1,ACCURACY=6",
      86);
}

// Sums and the blocks of two k steps take most of the registers; addresses get by with the rest.
TEST(MmaCompile, TheLargestWarpTilesWithoutSpillsInEveryLayout) {
  for (const char* tile : {"BM=128,BN=256,BK=32", "BM=256,BN=128,BK=64"}) {
    for (const char* rest : {"TA=0,TB=0,PRED=1", "TA=0,TB=1,PRED=1", "TA=1,TB=0,PRED=0"}) {
      expect_clean("mma/AB=2,CD=2," + std::string(tile) +
                       ",WM=64,WN=64,MMA_K=16,STAGES=4,ASYNC=1,VEC=8,RASTER=8,SPLIT_K=1," + rest,
                   90);
    }
  }
}

// Of decode: few rows, a stream of weights, sums of a cluster.
TEST(MmaCompile, SkinnyTilesWithoutSpills) {
  const std::string tile =
      "mma/AB=2,CD=2,BM=16,BN=64,BK=128,WM=16,WN=16,MMA_K=16,STAGES=4,ASYNC=1,";
  const std::string rest = "RASTER=8,SPLIT_K=4,TA=0,TB=1,PRED=1";
  expect_clean(tile + "VEC=8," + rest + ",CLUSTER=1", 90);
  expect_clean(tile + "VEC=1," + rest + ",VECS=881", 80);
}

// What the traits say of the oldest architecture is what its compiler says.
TEST(MmaCompile, NotWhereTheInstructionsAreMissing) {
  const std::string tile = "BM=32,BN=32,BK=32,WM=16,WN=16,";
  const std::string rest = "RASTER=8,SPLIT_K=1,TA=0,TB=0,PRED=0";
  for (const std::string& text :
       {"mma/AB=1,CD=0," + tile + "MMA_K=16,STAGES=2,ASYNC=0,VEC=8," + rest,
        "mma/AB=1,CD=0," + tile + "MMA_K=8,STAGES=2,ASYNC=1,VEC=8," + rest,
        "mma/AB=2,CD=2," + tile + "MMA_K=16,STAGES=2,ASYNC=0,VEC=8," + rest,
        "mma/AB=0,CD=0," + tile + "MMA_K=8,ACCURACY=2,STAGES=2,ASYNC=0,VEC=4," + rest}) {
    const KnownConfig config = known(text);
    EXPECT_EQ(config.traits.least_sm, 80) << text;
    EXPECT_FALSE(compile(config, "sm_75").ok) << text;
  }
  expect_clean("mma/AB=1,CD=0," + tile + "MMA_K=8,STAGES=2,ASYNC=1,VEC=1," + rest, 75);
}

class MmaCompileEveryLayout : public testing::TestWithParam<int> {};

TEST_P(MmaCompileEveryLayout, EveryTypeAndAccessWidth) {
  for (const char* types : {"AB=1,CD=0", "AB=1,CD=1", "AB=2,CD=0", "AB=2,CD=2"}) {
    for (const int layout : {0, 1, 2, 3}) {
      for (const int vec : {8, 4, 2, 1}) {
        expect_clean("mma/" + std::string(types) +
                         ",BM=64,BN=64,BK=32,WM=32,WN=32,MMA_K=16,STAGES=3,ASYNC=1,VEC=" +
                         std::to_string(vec) +
                         ",RASTER=8,SPLIT_K=1,TA=" + std::to_string(layout / 2) +
                         ",TB=" + std::to_string(layout % 2) + ",PRED=1",
                     GetParam());
      }
    }
  }
  for (const int layout : {0, 1, 2, 3}) {
    for (const int vec : {4, 2, 1}) {
      expect_clean("mma/AB=0,CD=0,BM=64,BN=64,BK=32,WM=32,WN=32,MMA_K=8,STAGES=3,ASYNC=1,VEC=" +
                       std::to_string(vec) +
                       ",RASTER=8,SPLIT_K=1,TA=" + std::to_string(layout / 2) +
                       ",TB=" + std::to_string(layout % 2) + ",PRED=1,ACCURACY=2",
                   GetParam());
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Archs, MmaCompileEveryLayout, testing::Values(80, 86, 89, 90, 120),
                         [](const auto& instance) {
                           return "sm_" + std::to_string(instance.param);
                         });

}  // namespace
}  // namespace gemm_tune
