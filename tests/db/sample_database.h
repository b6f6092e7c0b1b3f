// SPDX-License-Identifier: Apache-2.0
// A database of two architectures with every kind of winner, for the tests of the exported header.
#pragma once

#include <filesystem>
#include <string>

#include "tests/db/fixture.h"

namespace gemm_tune {

inline Database sample_database(const std::filesystem::path& path) {
  const auto config = [](const char* tile, int vec, int pred) {
    return "vectorized_2d/" + std::string(tile) + ",VEC=" + std::to_string(vec) +
           ",PAD=0,INTERLEAVE=0,PRED=" + std::to_string(pred);
  };
  Database database = writable(path);
  database.store_baseline(kA6000, parse_problem("1024x1024x1024"),
                          {"cublasSgemm", "13.1.0", timing(130)});
  store_measured(database, kA6000, "1024x1024x1024", kWholeTiles, 151.25);
  store_measured(database, kA6000, "1024x1024x1024", kPredicated, 270);
  store_predicted(database, kA6000, "4096x4096x4096", kWholeTiles, 6543.2109);
  store_measured(database, kA10, "4096x4096x4096", config("BM=64,BN=128,BK=8,TM=8,TN=8", 2, 0),
                 9000);
  store_measured(database, kA10, "1024x1024x1024:align=4", kPredicated, 300);
  store_measured(database, kA6000, "16x4096x4096", config("BM=32,BN=32,BK=32,TM=4,TN=4", 4, 1),
                 100);
  store_measured(
      database, kA6000, "8x4096x4096:layout=nt",
      "skinny/CLUSTER=0,BS=8,TL=2,WARPS=4,LANES_K=8,UNROLL=2,VEC=4,SPLIT_K=8,SKINNY_N=0,TA=0,TB=1,"
      "PRED=0",
      50);
  store_measured(database, kA6000, "256x256x8192", config("BM=64,BN=64,BK=16,TM=4,TN=4", 2, 0), 80);
  store_measured(database, kA6000, "1999999999x32x32", kPredicated, 70000);
  store_measured(database, kA6000, "7x8x0", kPredicated, 3);
  store_measured(database, kA6000, "128x1024x1024", "tiled_2d/BM=64,BN=64,BK=8,TM=4,TN=4,PRED=0",
                 60);
  store_predicted(database, kA6000, "8x8x1024", "naive/BM=8,BN=8,COALESCED=1,PRED=0", 40);
  store_measured(
      database, kA6000, "2048x1024x512",
      "warp_tiled/CLUSTER=0,BM=128,BN=128,BK=16,WM=64,WN=32,TM=8,TN=8,WARPS_K=1,STAGES=2,ASYNC=0,"
      "FRAGMENTS=2,VEC=4,RASTER=8,CTAS=1,SPLIT_K=1,TAIL=1,TA=0,TB=0,PRED=0",
      110);
  store_measured(database, kA6000, "128x128x64:batch=64", kWholeTiles, 90);
  store_measured(database, kA6000, "64x64x64", kWholeTiles, 1, "a stale hash");
  store_measured(database, {"sm_90", "NVIDIA \"H100\" \\ 80GB\n\xc2\xb2?\?/", 132},
                 "2048x2048x2048", kWholeTiles, 400);
  return database;
}

}  // namespace gemm_tune
