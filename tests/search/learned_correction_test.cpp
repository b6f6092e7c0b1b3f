// SPDX-License-Identifier: Apache-2.0
#include "search/model/learned_correction.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "kernel_templates/registry/registry.h"
#include "search/model/static_model.h"

namespace gemm_tune {
namespace {

// Asks for feature 0 first, then for 1 and 2, and so on by depth; each leaf has its own value.
CorrectionTree a_tree() {
  CorrectionTree tree{};
  for (std::size_t node = 0; node < tree.feature.size(); ++node) {
    tree.feature[node] = static_cast<std::uint8_t>(node);
    tree.most[node] = static_cast<float>(node);
  }
  for (std::size_t leaf = 0; leaf < tree.value.size(); ++leaf) {
    tree.value[leaf] = 0.01F * static_cast<float>(leaf);
  }
  return tree;
}

TEST(LearnedCorrectionTest, WalksATreeFromTheFirstSplitToALeaf) {
  const std::vector<CorrectionTree> trees = {a_tree()};
  CorrectionFeatures features{};
  const auto leaf = [&] { return std::log(correction(trees, features)) * 100; };
  EXPECT_NEAR(leaf(), 0, 1e-4);  // at most each: left all the way
  features.fill(100);
  EXPECT_NEAR(leaf(), 15, 1e-4);  // right
  features[0] = 0;
  EXPECT_NEAR(leaf(), 7, 1e-4);  // left, then right
  features[1] = 1;
  EXPECT_NEAR(leaf(), 3, 1e-4);
  features[3] = 3;
  EXPECT_NEAR(leaf(), 1, 1e-4);
  features[7] = 7;
  EXPECT_NEAR(leaf(), 0, 1e-4);
}

TEST(LearnedCorrectionTest, AddsUpTreesWithinItsBounds) {
  CorrectionFeatures features{};
  features.fill(100);
  EXPECT_NEAR(correction(std::vector(3, a_tree()), features), std::exp(0.45), 1e-6);
  EXPECT_EQ(correction({}, features), 1);
  EXPECT_EQ(correction(std::vector(30, a_tree()), features), kMostCorrection);
  CorrectionTree faster = a_tree();
  faster.value.fill(-0.5F);
  EXPECT_EQ(correction(std::vector(3, faster), features), kLeastCorrection);
}

TEST(LearnedCorrectionTest, TreesAskForFeaturesThatThereAre) {
  EXPECT_GE(correction_of_sm_90().size(), 50u);
  for (const CorrectionTree& tree : correction_of_sm_90()) {
    for (const std::uint8_t feature : tree.feature) EXPECT_LT(feature, kCorrectionFeatures.size());
    for (const float value : tree.value) EXPECT_LT(std::abs(value), 0.2F);
  }
}

constexpr const char* kConfig =
    "warp_tiled/CLUSTER=0,BM=64,BN=64,BK=16,WM=32,WN=32,TM=8,TN=4,WARPS_K=1,STAGES=3,ASYNC=1,"
    "FRAGMENTS=2,VEC=4,RASTER=8,CTAS=1,SPLIT_K=1,TAIL=0,TA=0,TB=0,PRED=1";

TEST(LearnedCorrectionTest, IsPartOfThePredictionWhereItWasLearned) {
  const KnownConfig config = check_config(parse_config(kConfig));
  const Problem problem = packed_problem(500, 700, 900);
  const DeviceSpec here = find_device_spec("sm_90").value();
  const ModelConstants& constants = machine_profile("sm_90").model;
  const ConfigModel model(config.traits, here, std::nullopt, constants);
  const Prediction prediction = model.predict(problem, here.sm_count);
  EXPECT_TRUE(model.is_learned());
  EXPECT_NE(prediction.correction, 1);
  const auto features = model.correction_features(problem, here.sm_count);
  ASSERT_TRUE(features.has_value());
  EXPECT_EQ(correction(constants.correction, *features), prediction.correction);

  ModelConstants unaware = constants;
  unaware.correction = {};
  const Prediction counted = predict(config.traits, problem, here, std::nullopt, unaware);
  EXPECT_EQ(counted.correction, 1);
  EXPECT_DOUBLE_EQ(prediction.time_us, counted.time_us * prediction.correction);
  EXPECT_EQ(model.time_us(problem, here.sm_count), prediction.time_us);
}

TEST(LearnedCorrectionTest, IsForFp32OfItsFamilyOnItsArchitectureAlone) {
  const KnownConfig config = check_config(parse_config(kConfig));
  const ModelConstants& learned = machine_profile("sm_90").model;
  EXPECT_TRUE(has_learned_times(config.traits, learned));
  EXPECT_FALSE(has_learned_times(config.traits, machine_profile("sm_86").model));
  EXPECT_FALSE(has_learned_times(config.traits, ModelConstants()));
  std::string mixed = std::string(kConfig) + ",TYPE_B=2";
  mixed.replace(mixed.find("STAGES=3,ASYNC=1"), 16, "STAGES=2,ASYNC=0");
  EXPECT_FALSE(has_learned_times(check_config(parse_config(mixed)).traits, learned));
  for (const KernelFamily& family : families()) {
    if (family.is_library() || family.name == "warp_tiled") continue;
    for (const std::vector<int>& values : family.representatives) {
      EXPECT_FALSE(has_learned_times(family.traits(values), learned)) << family.name;
    }
  }
}

// Of each feature, in the order of their names.
TEST(LearnedCorrectionTest, FeaturesAreWhatTheirNamesSay) {
  const KnownConfig config = check_config(parse_config(kConfig));
  const DeviceSpec here = find_device_spec("sm_90").value();
  const ConfigModel model(config.traits, here, std::nullopt, machine_profile("sm_90").model);
  const Problem problem = packed_problem(500, 700, 900);
  const CorrectionFeatures features = model.correction_features(problem, here.sm_count).value();
  const auto of = [&](std::string_view name) {
    const auto at = std::find(kCorrectionFeatures.begin(), kCorrectionFeatures.end(), name);
    EXPECT_NE(at, kCorrectionFeatures.end()) << name;
    return features.at(static_cast<std::size_t>(at - kCorrectionFeatures.begin()));
  };
  const Prediction prediction = model.predict(problem, here.sm_count);
  const double counted_us = prediction.time_us / prediction.correction;
  EXPECT_NEAR(of("log_us"), std::log(counted_us), 1e-5);
  EXPECT_NEAR(of("multiply_share"), prediction.ffma_us / counted_us, 1e-5);
  EXPECT_NEAR(of("issue_share"), prediction.issue_us / counted_us, 1e-5);
  EXPECT_NEAR(of("l1_share"), prediction.l1_us / counted_us, 1e-5);
  EXPECT_NEAR(of("l2_share"), prediction.l2_us / counted_us, 1e-5);
  EXPECT_NEAR(of("dram_share"), prediction.dram_us / counted_us, 1e-5);
  EXPECT_EQ(of("threads"), 128);
  EXPECT_EQ(of("tile_m"), 64);
  EXPECT_EQ(of("tile_k"), 16);
  EXPECT_EQ(of("stages"), 3);
  EXPECT_EQ(of("vec_cd"), 4);
  EXPECT_EQ(of("predicated"), 1);
  EXPECT_EQ(of("ctas_per_sm"), static_cast<float>(prediction.ctas_per_sm));
  EXPECT_NEAR(of("waves"), prediction.waves, 1e-5);
  EXPECT_NEAR(of("last_wave"), prediction.waves - std::floor(prediction.waves), 1e-5);
  EXPECT_NEAR(of("tiles_of_sm"), 8 * 11 / 132.0, 1e-5);
  EXPECT_EQ(of("slices"), 57);
  EXPECT_NEAR(of("edge_m"), 512 / 500.0, 1e-5);
  EXPECT_NEAR(of("edge_n"), 704 / 700.0, 1e-5);
  EXPECT_EQ(of("log_batch"), 0);
}

}  // namespace
}  // namespace gemm_tune
