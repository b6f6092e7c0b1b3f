// SPDX-License-Identifier: Apache-2.0
#include "kernel_templates/ladder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "tests/kernel_templates/spaces.h"

namespace gemm_tune {
namespace {

TEST(Ladder, EveryRungIsALegalConfigInCanonicalText) {
  for (const Rung& rung : ladder()) {
    EXPECT_EQ(to_string(known(rung.config).config()), rung.config) << rung.name;
    EXPECT_FALSE(rung.teaches.empty()) << rung.name;
  }
}

TEST(Ladder, ClimbsEveryFamilyAndNamesEachRungOnce) {
  std::set<std::string_view> names;
  std::set<std::string> climbed;
  for (const Rung& rung : ladder()) {
    EXPECT_TRUE(names.insert(rung.name).second) << rung.name;
    climbed.insert(parse_config(rung.config).family);
  }
  EXPECT_EQ(names.size(), 18u);
  EXPECT_THAT(climbed, testing::UnorderedElementsAre("naive", "smem_tiled", "coarsened_1d",
                                                     "tiled_2d", "vectorized_2d", "warp_tiled"));
}

TEST(Ladder, WhatAStepTeachesFitsALine) {
  for (const Rung& rung : ladder()) {
    EXPECT_LE(rung.teaches.size(), 76u) << rung.name;
    EXPECT_LE(rung.name.size(), 31u) << rung.name;
  }
}

TEST(Ladder, EveryRungHasAKernelForARaggedProblem) {
  for (const Rung& rung : ladder()) {
    EXPECT_TRUE(legal_for(known(rung.config), packed_problem(1023, 1025, 1021)).has_value())
        << rung.name;
  }
}

}  // namespace
}  // namespace gemm_tune
