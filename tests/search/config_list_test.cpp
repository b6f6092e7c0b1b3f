// SPDX-License-Identifier: Apache-2.0
#include "search/space/config_list.h"

#include <gtest/gtest.h>

#include <map>
#include <stdexcept>
#include <string>
#include <vector>

#include "tests/kernel_templates/spaces.h"

namespace gemm_tune {
namespace {

TEST(ConfigListTest, ConfigsOfFamiliesInAnyOrderComeBackAsTheyWere) {
  std::vector<KnownConfig> configs;
  const char* const names[] = {"naive", "warp_tiled", "skinny"};
  std::map<std::string, std::vector<std::vector<int>>> points;
  for (const char* name : names) points[name] = some_valid_points(*find_family(name));
  for (std::size_t i = 0; i < 8; ++i) {
    for (const char* name : names) {
      configs.push_back(known_config(*find_family(name), points[name].at(i)));
    }
  }
  const ConfigList list = configs;
  ASSERT_EQ(list.size(), configs.size());
  std::size_t i = 0;
  for (const KnownConfig& config : list) {
    EXPECT_EQ(to_string(config.config()), to_string(configs[i].config()));
    EXPECT_EQ(config.traits.registers_estimate, configs[i].traits.registers_estimate);
    EXPECT_EQ(config.recipe.smem_bytes, configs[i].recipe.smem_bytes);
    ++i;
  }
  EXPECT_EQ(i, configs.size());
}

TEST(ConfigListTest, AValueThatTwoBytesDoNotHoldIsRefused) {
  const KernelFamily& naive = *find_family("naive");
  std::vector<int> values(naive.params.size(), 1);
  values[0] = 40'000;
  ConfigList list;
  EXPECT_THROW(list.add(naive, values), std::out_of_range);
  EXPECT_TRUE(list.empty());
  EXPECT_THROW(list[0], std::out_of_range);
}

}  // namespace
}  // namespace gemm_tune
