// SPDX-License-Identifier: Apache-2.0
// The model's order of configs by wgmma, beside what was fastest on an H100 (bf16, nt).
#include "search/model/warpgroup_cycles.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <string>
#include <vector>

#include "core/problem/problem.h"
#include "kernel_templates/registry/registry.h"
#include "search/model/static_model.h"
#include "search/space/space.h"
#include "tests/kernel_templates/spaces.h"

namespace gemm_tune {
namespace {

const DeviceSpec& h100() {
  static const DeviceSpec spec = find_device_spec("sm_90").value();
  return spec;
}

// Once for all tests: they share a process.
const std::vector<KnownConfig>& all_of_bf16() {
  static const std::vector<KnownConfig> all = [] {
    const FixedParam of_bf16_nt[] = {{"AB", 2}, {"CD", 2}, {"TA", 0}, {"TB", 1}, {"REPACK", 0}};
    const Space space = enumerate({find_family("wgmma")}, of_bf16_nt);
    std::vector<KnownConfig> configs;
    for (const KnownConfig& config : space.points) {
      EXPECT_EQ(config.traits.signature, parse_signature("bf16"));
      configs.push_back(config);
    }
    return configs;
  }();
  return all;
}

struct Fastest {
  const char *problem, *config;
};

TEST(WarpgroupCycles, TheFastestOfEachShapeIsAmongTheFirstTwenty) {
  constexpr Fastest kFastest[] = {
      {"1024x1024x1024", "BM=64,BN=128,GROUPS=1,PINGPONG=0"},
      {"2048x2048x2048", "BM=128,BN=128,GROUPS=2,PINGPONG=1"},
      {"4096x4096x4096", "BM=128,BN=128,GROUPS=2,PINGPONG=1"},
      {"8192x8192x8192", "BM=128,BN=192,GROUPS=2,PINGPONG=1"},
      {"3072x3072x768", "BM=192,BN=128,GROUPS=2,PINGPONG=1"},
      {"256x4096x14336", "BM=64,BN=128,GROUPS=2,PINGPONG=1"},
      {"512x4096x4096", "BM=128,BN=128,GROUPS=2,PINGPONG=0"},
      {"3072x768x2048", "BM=192,BN=96,GROUPS=1,PINGPONG=0"},
  };
  const std::vector<KnownConfig>& all = all_of_bf16();
  for (const Fastest& one : kFastest) {
    const Problem problem = parse_problem(std::string(one.problem) + ":type=bf16:layout=nt");
    const std::string wanted = std::string("wgmma/AB=2,CD=2,") + one.config + ",TA=0,TB=1";
    const auto time = [&](const KnownConfig& config) {
      return predict(config.traits, problem, h100()).time_us;
    };
    const double its = time(check_config(parse_config(wanted)));
    const auto faster = std::count_if(all.begin(), all.end(),
                                      [&](const KnownConfig& other) { return time(other) < its; });
    EXPECT_LT(faster, 20) << one.problem;
  }
}

TEST(WarpgroupCycles, TensorCoresMultiplyAsManyBytesOfEachType) {
  const auto tensor_us = [](const std::string& types, const std::string& config) {
    const Problem problem = parse_problem("4096x4096x4096:layout=nt:type=" + types);
    return predict(known("wgmma/" + config).traits, problem, h100()).tensor_us;
  };
  const std::string tile = "BM=128,BN=128,GROUPS=2,PINGPONG=0,TA=0,TB=1";
  const double bf16 = tensor_us("bf16", "AB=2,CD=2," + tile);
  EXPECT_DOUBLE_EQ(tensor_us("f32+tf32", "AB=0,CD=0," + tile), 2 * bf16);
  EXPECT_DOUBLE_EQ(tensor_us("e4m3/e4m3/bf16/bf16", "AB=3,CD=2," + tile), bf16 / 2);
}

TEST(WarpgroupCycles, ThreePartsAreHalfAsManyBytesAgainAndTwiceTheProducts) {
  const auto of = [](const char* rest, const char* type) {
    const KnownConfig config =
        known(std::string("wgmma_parts/BM=128,BN=128,GROUPS=2,PROMOTE=64,TA=0,TB=0") + rest);
    const Problem problem = parse_problem(std::string("4096x4096x4096:type=") + type);
    return predict(config.traits, problem, h100());
  };
  const Prediction two = of("", "f32+fp32_f16x3"), three = of(",ACCURACY=4", "f32+fp32_bf16x6");
  EXPECT_NEAR(three.tensor_us / two.tensor_us, 2, 1e-9);
  EXPECT_NEAR(three.l2_us / two.l2_us, 1.5, 1e-9);
  // Of the launch that splits: 4 bytes read and 6 written of each element, for 4 and 4.
  EXPECT_GT(three.repack_us, 1.2 * two.repack_us);
  EXPECT_LT(three.repack_us, 1.25 * two.repack_us);
}

TEST(WarpgroupCycles, PromotedSumsAreFreeOnlyWhereAnotherConsumerOfTheTileMultiplies) {
  const Problem problem = parse_problem("8192x8192x8192:layout=nt:type=e4m3/e4m3/bf16/bf16");
  const auto time_us = [&](const char* config) {
    return predict(known(std::string("wgmma/AB=3,CD=2,") + config + ",TA=0,TB=1").traits, problem,
                   h100())
        .time_us;
  };
  const double shared = time_us("BM=128,BN=128,GROUPS=2,PINGPONG=0");
  EXPECT_LT(shared, .85 * time_us("BM=64,BN=128,GROUPS=2,PINGPONG=1"));
  EXPECT_LT(shared, time_us("BM=128,BN=128,GROUPS=2,PINGPONG=0,PROMOTE=32"));
}

TEST(WarpgroupCycles, SharesOfACtaCostTheirAdditions) {
  const Problem problem = parse_problem("4096x4096x4096:layout=nt:type=bf16");
  const auto time_us = [&](const std::string& shares) {
    const std::string tile = "wgmma/AB=2,CD=2,BM=128,BN=128,GROUPS=2,PINGPONG=0,";
    return predict(known(tile + shares + "TA=0,TB=1").traits, problem, h100()).time_us;
  };
  const double none = time_us(""), of_two = time_us("K_SHARES=2,") - none;
  EXPECT_GT(of_two, 0);
  EXPECT_LT(of_two, .01 * none);
  EXPECT_NEAR(time_us("K_SHARES=4,") - none, 3 * of_two, .1 * of_two);
}

// The model's time of the best config with these parts of its text.
double best_us(const char* problem_text, const char* with) {
  const std::vector<KnownConfig>& all = all_of_bf16();
  const Problem problem = parse_problem(std::string(problem_text) + ":type=bf16:layout=nt");
  double best = std::numeric_limits<double>::infinity();
  for (const KnownConfig& config : all) {
    if (to_string(config.config()).find(with) == std::string::npos) continue;
    if (config.traits.cuts_tiles && cut_tiles(config.traits, problem, h100().sm_count).tiles == 0)
      continue;
    best = std::min(best, predict(config.traits, problem, h100()).time_us);
  }
  return best;
}

TEST(WarpgroupCycles, FewTilesOfADeepKAreFasterInPartsThanInClusters) {
  for (const char* problem : {"512x128x16384", "256x256x8192", "64x1024x12288"}) {
    EXPECT_LT(best_us(problem, ",REDUCE=1,"), best_us(problem, ",SPLIT_K=4,")) << problem;
  }
}

// 192 x 96 fills a wave of 3072x768x2048; the parts' sums would take longer than its rest.
TEST(WarpgroupCycles, ARaggedWaveIsRatherFilledByAnotherTileThanCut) {
  EXPECT_LT(best_us("3072x768x2048", "BM=192,BN=96,") * 1.1,
            best_us("3072x768x2048", ",REDUCE=1,"));
}

TEST(WarpgroupCycles, TilesAreCutWhereTheyFillAtMostHalfAWave) {
  const auto cut = [](const char* problem, const char* reduce) {
    const KnownConfig config = check_config(parse_config(
        std::string("wgmma/AB=2,CD=2,BM=128,BN=128,GROUPS=2,PINGPONG=0,") + reduce + "TA=0,TB=1"));
    return cut_tiles(config.traits, parse_problem(std::string(problem) + ":type=bf16:layout=nt"),
                     h100().sm_count);
  };
  EXPECT_EQ(cut("512x128x16384", "REDUCE=1,").parts, 33);
  EXPECT_EQ(cut("512x128x1024", "REDUCE=1,").parts, 8);  // of two blocks each
  EXPECT_EQ(cut("3072x768x2048", "REDUCE=1,").tiles, 12);
  EXPECT_EQ(cut("2304x1536x2048", "REDUCE=1,").tiles, 0);  // 84 of a last wave
  EXPECT_EQ(cut("512x128x16384", "").tiles, 0);
}

TEST(WarpgroupCycles, TensorCoresDoTwoThousandMultiplicationsInACycle) {
  const KnownConfig config =
      check_config(parse_config("wgmma/AB=2,CD=2,BM=128,BN=128,GROUPS=2,PINGPONG=1,TA=0,TB=1"));
  const Problem problem = parse_problem("1408x1536x640:type=bf16:layout=nt");  // 132 tiles
  const ModelConstants& constants = machine_profile("sm_90").model;
  const WarpgroupCycles cycles = warpgroup_cycles(
      config.traits, warpgroup_step(config.traits, constants), problem, 132, constants);
  EXPECT_DOUBLE_EQ(cycles.multiply, 128.0 * 128 * 640 / 2048);
  EXPECT_GT(cycles.total, cycles.multiply);
}

double time_of(const char* config, const char* problem) {
  return predict(check_config(parse_config(config)).traits, parse_problem(problem), h100()).time_us;
}

// On an H100 1000 (rows of 2,000 bytes) took 10.1 us by the first and 7.0 by the second, 1024 5.9
// us by the first, and more with clusters.
TEST(WarpgroupCycles, ClustersPayWhereRowsShareLinesOfTheL2) {
  constexpr const char* kAlone =
      "wgmma/AB=2,CD=2,BM=64,BN=128,GROUPS=1,PINGPONG=0,SWAP=1,TA=0,TB=0";
  constexpr const char* kCluster =
      "wgmma/AB=2,CD=2,BM=128,BN=72,GROUPS=1,PINGPONG=0,CLUSTER_M=4,CLUSTER_N=2,SWAP=1,TA=0,TB=0";
  EXPECT_LT(1.15 * time_of(kCluster, "1000x1000x1000:type=bf16"),
            time_of(kAlone, "1000x1000x1000:type=bf16"));
  EXPECT_GT(time_of(kCluster, "1024x1024x1024:type=bf16"),
            time_of(kAlone, "1024x1024x1024:type=bf16"));
}

// 12.5 us beside 8.9 at 1216x960x1536, by blocks of 16 columns; blocks of 64 are as wide as a line.
TEST(WarpgroupCycles, ARowOfABoxIsALineHoweverShort) {
  constexpr const char* kProblem = "1024x32x1024:type=bf16";
  const KnownConfig narrow =
      check_config(parse_config("wgmma/AB=2,CD=2,BM=64,BN=32,GROUPS=1,PINGPONG=0,TA=0,TB=0"));
  KnownConfig wide = narrow;
  EXPECT_EQ(narrow.traits.loads_b.row_bytes, 64);
  wide.traits.loads_b.rows /= 2;
  wide.traits.loads_b.row_bytes = 128;
  EXPECT_LT(predict(wide.traits, parse_problem(kProblem), h100()).time_us,
            predict(narrow.traits, parse_problem(kProblem), h100()).time_us);
}

// Ragged clusters: 8 x 14 tiles are 8 x 4 clusters of 1 x 4, two more than run at once.
TEST(WarpgroupCycles, CountsTheClustersOfEachExtent) {
  EXPECT_EQ(clusters_at_once(132, 1), 132);
  EXPECT_EQ(clusters_at_once(132, 2), 66);
  EXPECT_EQ(clusters_at_once(132, 4), 30);
  EXPECT_EQ(clusters_at_once(132, 8), 15);
  EXPECT_EQ(clusters_at_once(4, 8), 1);
  EXPECT_GT(
      time_of("wgmma/AB=2,CD=2,BM=128,BN=72,GROUPS=1,PINGPONG=0,CLUSTER_N=4,TA=0,TB=1",
              "1000x1000x1000:type=bf16:layout=nt"),
      1.4 * time_of("wgmma/AB=2,CD=2,BM=128,BN=72,GROUPS=1,PINGPONG=0,CLUSTER_M=2,CLUSTER_N=2,"
                    "TA=0,TB=1",
                    "1000x1000x1000:type=bf16:layout=nt"));
}

}  // namespace
}  // namespace gemm_tune
