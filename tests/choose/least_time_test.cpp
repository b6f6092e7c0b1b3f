// SPDX-License-Identifier: Apache-2.0
#include "choose/least_time.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "choose/expected_time.h"
#include "choose/timed_configs.h"
#include "kernel_templates/registry/registry.h"
#include "search/model/static_model.h"

namespace gemm_tune {
namespace {

// The configs by which families stand for their spaces, two of one stage, whose slices are on their
// way in registers, and what all of them are served as.
std::vector<KnownConfig> sample_variants() {
  std::vector<KnownConfig> all;
  for (const KernelFamily& family : families()) {
    for (const std::vector<int>& values : family.representatives) {
      for (KnownConfig& one : served_variants(known_config(family, values))) {
        all.push_back(std::move(one));
      }
    }
  }
  for (const char* tile : {"BM=16,BN=64,BK=8,WM=16,WN=64,TM=4,TN=8,WARPS_K=1",
                           "BM=64,BN=32,BK=16,WM=32,WN=32,TM=8,TN=4,WARPS_K=2"}) {
    const KnownConfig config = check_config(parse_config(
        std::string("warp_tiled/CLUSTER=0,") + tile +
        ",STAGES=1,ASYNC=0,FRAGMENTS=1,VEC=1,RASTER=8,CTAS=1,SPLIT_K=1,TAIL=0,TA=0,TB=0,PRED=1"));
    for (KnownConfig& one : served_variants(config)) all.push_back(std::move(one));
  }
  return all;
}

Problem random_problem(std::mt19937& random, const KnownConfig& config) {
  const auto size = [&] {
    const double log = std::uniform_real_distribution(0.0, 14.0)(random);
    const auto multiple = std::int64_t{1} << std::uniform_int_distribution(0, 7)(random);
    return std::max<std::int64_t>(1, static_cast<std::int64_t>(std::exp2(log)) / multiple) *
           multiple;
  };
  const std::int64_t batch = random() % 4 == 0 ? std::uniform_int_distribution(2, 200)(random) : 1;
  const std::int64_t M = size(), N = size(), K = random() % 50 == 0 ? 0 : size();
  return packed_problem(M, N, K, config.recipe.layout, batch, config.traits.signature);
}

TEST(LeastTimeTest, TheModelIsNeverBelowIt) {
  const std::vector<KnownConfig> variants = sample_variants();
  ASSERT_GT(variants.size(), 50U);
  const DeviceSpec devices[] = {modelled_device({"sm_90", "NVIDIA H100 80GB HBM3", 132}).value(),
                                modelled_device({"sm_90", "NVIDIA H100 PCIe", 114}).value(),
                                modelled_device({"sm_86", "NVIDIA GeForce RTX 3090", 82}).value(),
                                modelled_device({"sm_80", "", 0}).value(),
                                modelled_device({"sm_120", "one of few SMs", 1}).value()};
  std::mt19937 random(3);
  std::vector<double> shares;
  for (const KnownConfig& config : variants) {
    for (const DeviceSpec& device : devices) {
      if (!has_instructions(config.traits, device.sm())) continue;
      const LeastTime least = ModelledConfig(config, device.arch).least();
      for (int i = 0; i < 60; ++i) {
        const Problem problem = random_problem(random, config);
        const double modelled_us = predict(config.traits, problem, device).time_us;
        const double least_us = least.us(problem, device);
        ASSERT_LE(least_us, modelled_us * (1 + 1e-12))
            << to_string(config.config()) << " at " << to_string(problem) << " on " << device.name;
        ASSERT_LE(least.us_of(LeastTime::amount(problem, device)), least_us);
        if (std::isfinite(modelled_us)) shares.push_back(least_us / modelled_us);
      }
    }
  }
  std::sort(shares.begin(), shares.end());
  EXPECT_GT(shares[shares.size() / 2], 0.7);  // and it is near
  EXPECT_GT(shares[shares.size() / 10], 0.25);
}

TEST(LeastTimeTest, ThatOfAConfigsVariantsIsLeastForEach) {
  const DeviceSpec device = modelled_device({"sm_90", "NVIDIA H100 80GB HBM3", 132}).value();
  std::mt19937 random(4);
  int variants = 0;
  for (const KernelFamily& family : families()) {
    for (const std::vector<int>& values : family.representatives) {
      const std::vector<KnownConfig> all = served_variants(known_config(family, values));
      LeastTime least = ModelledConfig(all.front(), device.arch).least();
      for (const KnownConfig& one : all) {
        least.take_least(ModelledConfig(one, device.arch).least());
      }
      for (int i = 0; i < 30; ++i) {
        const Problem problem = random_problem(random, all.front());
        const double least_us =
            std::max(least.us(problem, device), least.us_of(LeastTime::amount(problem, device)));
        for (const KnownConfig& one : all) {
          ASSERT_LE(least_us, predict(one.traits, problem, device).time_us * (1 + 1e-12))
              << to_string(one.config()) << " at " << to_string(problem);
          ++variants;
        }
      }
    }
  }
  EXPECT_GT(variants, 3000);
}

// A model that is kept gives the times of one that is made for the question.
TEST(ModelledConfigTest, ItsTimesAreThoseOfTheModel) {
  const DeviceSpec devices[] = {modelled_device({"sm_90", "NVIDIA H100 80GB HBM3", 132}).value(),
                                modelled_device({"sm_86", "NVIDIA GeForce RTX 3090", 82}).value(),
                                modelled_device({"sm_86", "NVIDIA RTX A6000", 84}).value()};
  std::mt19937 random(6);
  for (const KnownConfig& config : sample_variants()) {
    for (const DeviceSpec& device : devices) {
      const ModelledConfig modelled(config, device.arch);
      for (int i = 0; i < 10; ++i) {
        const Problem problem = random_problem(random, config);
        ASSERT_EQ(modelled.us(problem, device), modelled_us(config, problem, device))
            << to_string(config.config()) << " at " << to_string(problem) << " on " << device.name;
      }
    }
  }
}

// Where all are asked for, none is left out for its least time.
TEST(LeastTimeTest, TheFastestTimedConfigIsTheFirstOfAll) {
  const DeviceKey h100 = {"sm_90", "NVIDIA H100 80GB HBM3", 132};
  std::mt19937 random(5);
  std::vector<TimedConfig> rows;
  std::vector<KnownConfig> asked_as;
  const DeviceSpec spec = modelled_device(h100).value();
  for (const KnownConfig& config : sample_variants()) {
    if (config.traits.signature != Signature() || !config.traits.predicated) continue;
    asked_as.push_back(config);
    for (int i = 0; i < 3; ++i) {
      const Problem problem = random_problem(random, config);
      const double us = modelled_us(config, problem, spec).value_or(5);
      const double off = std::uniform_real_distribution(0.7, 1.5)(random);
      rows.push_back({h100, problem, to_string(config.config()), "1", us * off});
    }
  }
  ASSERT_GT(rows.size(), 30U);
  const TimedConfigs timed(std::move(rows));
  int found = 0;
  for (int i = 0; i < 500; ++i) {
    const Problem problem = random_problem(random, asked_as[random() % asked_as.size()]);
    const std::vector<TimedCandidate> all = timed.fastest(h100, spec, problem, 10'000);
    const std::vector<TimedCandidate> one = timed.fastest(h100, spec, problem, 1);
    ASSERT_EQ(one.empty(), all.empty());
    if (all.empty()) continue;
    ++found;
    EXPECT_EQ(one.front().config, all.front().config) << to_string(problem);
    EXPECT_EQ(one.front().expected_us, all.front().expected_us);
    EXPECT_TRUE(timed.fastest(h100, spec, problem, 1, all.front().expected_us).empty());
  }
  EXPECT_GT(found, 300);
}

TEST(LeastTimeTest, OfAnUnknownArchitectureNothingIsLeftOut) {
  const KnownConfig config = sample_variants().front();
  const DeviceSpec device = modelled_device({"sm_90", "NVIDIA H100 80GB HBM3", 132}).value();
  const Problem problem = packed_problem(512, 512, 512);
  const ModelledConfig modelled(config, "sm_1");
  EXPECT_EQ(modelled.least().us(problem, device), 0);
  EXPECT_EQ(modelled.least().us_of(LeastTime::amount(problem, device)), 0);
  EXPECT_EQ(modelled.us(problem, device), std::nullopt);
}

}  // namespace
}  // namespace gemm_tune
