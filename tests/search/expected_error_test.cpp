// SPDX-License-Identifier: Apache-2.0
// Errors as an H100 measured them (winners/, 2026-11-24).
#include "search/model/expected_error.h"

#include <gtest/gtest.h>

#include "kernel_templates/registry/registry.h"

namespace gemm_tune {
namespace {

double expected(const char* config, const char* problem) {
  const KnownConfig known = check_config(parse_config(config));
  return expected_error(known.family->traits(known.values), parse_problem(problem),
                        find_device_spec("sm_90").value());
}

TEST(ExpectedErrorTest, IsThatOfAnH100WhereEachThreadHasOneSum) {
  EXPECT_NEAR(
      expected("warp_tiled/"
               "CLUSTER=0,BM=16,BN=32,BK=8,WM=16,WN=32,TM=4,TN=4,WARPS_K=1,STAGES=4,ASYNC=1,"
               "FRAGMENTS=2,VEC=4,RASTER=8,CTAS=1,SPLIT_K=16,TAIL=0,TA=0,TB=1,PRED=0,REDUCE=1",
               "16x768x3072:layout=nt") /
          2.643e-07,
      1, 0.05);
  EXPECT_NEAR(expected("warp_tiled/"
                       "CLUSTER=0,BM=32,BN=64,BK=32,WM=32,WN=64,TM=8,TN=8,WARPS_K=8,STAGES=3,ASYNC="
                       "1,FRAGMENTS=2,VEC=4,RASTER=8,CTAS=2,SPLIT_K=1,TAIL=0,TA=0,TB=0,PRED=0",
                       "512x512x512") /
                  1.557e-07,
              1, 0.05);
  EXPECT_NEAR(expected("warp_tiled/"
                       "CLUSTER=0,BM=16,BN=64,BK=16,WM=16,WN=64,TM=4,TN=8,WARPS_K=4,STAGES=5,ASYNC="
                       "1,FRAGMENTS=2,VEC=4,RASTER=8,CTAS=1,SPLIT_K=1,TAIL=0,TA=0,TB=0,PRED=0",
                       "128x1024x128") /
                  1.099e-07,
              1, 0.05);
  EXPECT_NEAR(
      expected("warp_tiled/"
               "CLUSTER=0,BM=64,BN=128,BK=32,WM=64,WN=64,TM=16,TN=8,WARPS_K=4,STAGES=2,ASYNC=2,"
               "FRAGMENTS=2,VEC=4,RASTER=8,CTAS=1,SPLIT_K=1,TAIL=0,TA=0,TB=0,PRED=0",
               "1024x1024x1024") /
          2.898e-07,
      1, 0.05);
  EXPECT_NEAR(
      expected("warp_tiled/"
               "CLUSTER=0,BM=64,BN=256,BK=8,WM=64,WN=64,TM=16,TN=8,WARPS_K=1,STAGES=5,ASYNC=1,"
               "FRAGMENTS=2,VEC=4,RASTER=8,CTAS=2,SPLIT_K=1,TAIL=1,TA=0,TB=0,PRED=0",
               "4096x4096x4096") /
          1.122e-06,
      1, 0.05);
  EXPECT_NEAR(
      expected("warp_tiled/"
               "CLUSTER=0,BM=32,BN=64,BK=32,WM=32,WN=64,TM=8,TN=8,WARPS_K=8,STAGES=4,ASYNC=1,"
               "FRAGMENTS=2,VEC=4,RASTER=8,CTAS=2,SPLIT_K=66,TAIL=0,TA=0,TB=0,PRED=0,REDUCE=1",
               "64x64x65536") /
          2.565e-07,
      1, 0.05);
}

TEST(ExpectedErrorTest, SharesOfTheLastWavesTilesHaveShorterChains) {
  EXPECT_NEAR(
      expected("warp_tiled/"
               "CLUSTER=0,BM=32,BN=128,BK=32,WM=32,WN=64,TM=8,TN=8,WARPS_K=4,STAGES=4,ASYNC=1,"
               "FRAGMENTS=2,VEC=4,RASTER=8,CTAS=2,SPLIT_K=1,TAIL=1,TA=0,TB=0,PRED=0,REDUCE=1",
               "128x128x32768") /
          3.065e-07,
      1, 0.2);
  EXPECT_NEAR(
      expected("warp_tiled/"
               "CLUSTER=0,BM=128,BN=256,BK=8,WM=64,WN=64,TM=16,TN=8,WARPS_K=1,STAGES=5,ASYNC=1,"
               "FRAGMENTS=2,VEC=4,RASTER=8,CTAS=1,SPLIT_K=1,TAIL=1,TA=0,TB=0,PRED=0,REDUCE=1",
               "512x512x16384") /
          5.794e-07,
      1, 0.2);
  EXPECT_NEAR(
      expected("warp_tiled/"
               "CLUSTER=0,BM=64,BN=256,BK=8,WM=64,WN=64,TM=16,TN=8,WARPS_K=1,STAGES=2,ASYNC=0,"
               "FRAGMENTS=2,VEC=4,RASTER=8,CTAS=2,SPLIT_K=1,TAIL=2,TA=0,TB=1,PRED=0,REDUCE=1",
               "256x1280x5120:layout=nt") /
          3.639e-07,
      1, 0.2);
  EXPECT_NEAR(
      expected("warp_tiled/"
               "CLUSTER=0,BM=128,BN=128,BK=8,WM=128,WN=32,TM=16,TN=8,WARPS_K=1,STAGES=2,ASYNC=0,"
               "FRAGMENTS=2,VEC=4,RASTER=8,CTAS=1,SPLIT_K=1,TAIL=2,TA=0,TB=1,PRED=0,REDUCE=1",
               "512x768x3072:layout=nt") /
          3.067e-07,
      1, 0.2);
}

TEST(ExpectedErrorTest, OfASingleProductIsThatOfOneRounding) {
  EXPECT_NEAR(expected("warp_tiled/"
                       "CLUSTER=0,BM=32,BN=64,BK=32,WM=32,WN=64,TM=8,TN=8,WARPS_K=8,STAGES=3,ASYNC="
                       "1,FRAGMENTS=2,VEC=4,RASTER=8,CTAS=2,SPLIT_K=1,TAIL=0,TA=0,TB=0,PRED=0",
                       "64x64x1"),
              2.53e-8, 0.01e-8);
}

}  // namespace
}  // namespace gemm_tune
