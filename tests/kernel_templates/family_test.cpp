// SPDX-License-Identifier: Apache-2.0
#include "kernel_templates/family.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>

#include "tests/kernel_templates/spaces.h"

namespace gemm_tune {
namespace {

using testing::ElementsAre;
using testing::ElementsAreArray;
using testing::Pair;

std::vector<std::string> names_of(const KernelFamily& family) {
  std::vector<std::string> names;
  for (const ParamSpec& param : family.params) names.push_back(param.name);
  return names;
}

// A canonical config is written as designated initialisers, which must follow the Params struct.
TEST(Family, ParametersStandInTheOrderOfTheirStruct) {
  EXPECT_THAT(names_of(*find_family("naive")), ElementsAre("BM", "BN", "COALESCED", "PRED"));
  EXPECT_THAT(names_of(*find_family("smem_tiled")),
              ElementsAre("BM", "BN", "BK", "UNROLL", "PRED"));
  EXPECT_THAT(names_of(*find_family("coarsened_1d")), ElementsAre("BM", "BN", "BK", "TM", "PRED"));
  EXPECT_THAT(names_of(*find_family("tiled_2d")),
              ElementsAre("BM", "BN", "BK", "TM", "TN", "PRED"));
  EXPECT_THAT(names_of(*find_family("vectorized_2d")),
              ElementsAre("BM", "BN", "BK", "TM", "TN", "VEC", "PAD", "INTERLEAVE", "PRED"));
  EXPECT_THAT(
      names_of(*find_family("warp_tiled")),
      ElementsAre("CLUSTER", "BM", "BN", "BK", "WM", "WN", "TM", "TN", "WARPS_K", "STAGES", "ASYNC",
                  "FRAGMENTS", "VEC", "RASTER", "CTAS", "SPLIT_K", "TAIL", "TA", "TB", "PRED"));
  EXPECT_THAT(names_of(*find_family("skinny")),
              ElementsAre("CLUSTER", "BS", "TL", "WARPS", "LANES_K", "UNROLL", "VEC", "SPLIT_K",
                          "SKINNY_N", "TA", "TB", "PRED"));
}

TEST(Family, TheSmallSpacesHaveTheSizesThatTheirRulesLeave) {
  std::map<std::string, std::size_t> sizes;
  for (const KernelFamily& family : families()) {
    if (is_small(family)) sizes[family.name] = valid_points(family).size();
  }
  EXPECT_THAT(sizes,
              ElementsAre(Pair("coarsened_1d", 138u), Pair("naive", 36u), Pair("smem_tiled", 108u),
                          Pair("tiled_2d", 300u), Pair("vectorized_2d", 10554u)));
}

std::vector<std::string> names_of_families() {
  std::vector<std::string> names;
  for (const KernelFamily& family : families()) names.push_back(family.name);
  return names;
}

class EachFamily : public testing::TestWithParam<std::string> {
 protected:
  const KernelFamily& family() const { return *find_family(GetParam()); }
};

TEST_P(EachFamily, ValuesAscendAndEveryParameterIsExplained) {
  for (const ParamSpec& param : family().params) {
    EXPECT_FALSE(param.meaning.empty()) << param.name;
    EXPECT_TRUE(std::is_sorted(param.values.begin(), param.values.end())) << param.name;
    EXPECT_EQ(std::adjacent_find(param.values.begin(), param.values.end()), param.values.end())
        << param.name;
  }
}

TEST_P(EachFamily, AValidPointSurvivesItsText) {
  for (const std::vector<int>& point : some_valid_points(family())) {
    const std::string text = to_string(family().config(point));
    EXPECT_EQ(check_config(parse_config(text)).values, point) << text;
  }
}

TEST_P(EachFamily, RejectsExactlyThePointsThatBreakARule) {
  std::vector<std::vector<int>> points = some_raw_points(family());
  for (std::vector<int>& valid : some_valid_points(family())) points.push_back(std::move(valid));
  for (const std::vector<int>& point : points) {
    std::optional<std::string> first;
    for (const FamilyRule& rule : family().rules) {
      if (!first && rule.broken(point)) first = rule.reason;
    }
    EXPECT_EQ(family().reject(point), first) << to_string(family().config(point));
  }
}

// A rule's verdict may depend on nothing but the parameters that it says it reads. It may rest on
// the rules before it, which is why none is asked after the first that is broken.
TEST_P(EachFamily, RulesNameEveryParameterThatTheyRead) {
  std::mt19937 random(2);
  for (const std::vector<int>& point : some_raw_points(family())) {
    std::vector<int> other;
    for (const ParamSpec& param : family().params) {
      other.push_back(param.values[random() % param.values.size()]);
    }
    for (const FamilyRule& rule : family().rules) {
      std::vector<int> alike = other;
      for (const std::size_t position : rule.reads) alike[position] = point[position];
      EXPECT_EQ(rule.broken(alike), rule.broken(point))
          << rule.reason << ": " << to_string(family().config(point)) << " and "
          << to_string(family().config(alike));
      if (rule.broken(point)) break;
    }
  }
}

std::vector<std::size_t> positions_of_tunables(const KernelFamily& family) {
  std::vector<std::size_t> positions;
  for (std::size_t i = 0; i < family.params.size(); ++i) {
    if (family.params[i].role == Role::tunable) positions.push_back(i);
  }
  return positions;
}

// A specialisation is written by roles and read from the traits. If a role were missing or another
// one's, the finals would verify one kernel and the library would hand out another.
TEST_P(EachFamily, TheSpecialisationIsThatOfTheParametersWithItsRoles) {
  const std::vector<std::vector<int>> points = some_valid_points(family());
  for (std::size_t n = 0; n < points.size(); n += 10) {
    const std::vector<int>& point = points[n];
    const Specialisation own = known_config(family(), point).specialisation();
    EXPECT_EQ(family().specialised(point, own), point) << to_string(family().config(point));
    for (const std::size_t tunable : positions_of_tunables(family())) {
      std::vector<int> other = point;
      for (const int value : family().params[tunable].values) {
        other[tunable] = value;
        if (family().reject(other)) continue;
        EXPECT_EQ(known_config(family(), other).specialisation(), own)
            << family().params[tunable].name << ": " << to_string(family().config(point));
      }
    }
  }
}

TEST_P(EachFamily, AnotherSpecialisationIsReachedWhereTheFamilyHasItsParameters) {
  std::set<Role> roles;
  for (const ParamSpec& param : family().params) roles.insert(param.role);
  const std::vector<std::vector<int>> points = some_valid_points(family());
  for (std::size_t n = 0; n < points.size(); n += 10) {
    const KnownConfig config = known_config(family(), points[n]);
    const Specialisation wanted = {Layout::tt, 1, true};
    const std::vector<int> values = family().specialised(config.values, wanted);
    if (family().reject(values)) continue;  // a rule on the layout
    const Specialisation reached = known_config(family(), values).specialisation();
    EXPECT_EQ(reached.layout, roles.contains(Role::transposed_a) ? Layout::tt : Layout::nn);
    EXPECT_EQ(reached.vec, 1);
    EXPECT_TRUE(reached.predicated);
  }
}

// What a search tries is worth nothing where a rule forbids all of it.
TEST_P(EachFamily, EveryValueOfEveryParameterIsValidInSomePoint) {
  const std::vector<std::vector<int>> points = some_valid_points(family());
  for (std::size_t i = 0; i < family().params.size(); ++i) {
    std::set<int> seen;
    for (const std::vector<int>& point : points) seen.insert(point[i]);
    EXPECT_THAT(family().params[i].values, ElementsAreArray(seen)) << family().params[i].name;
  }
}

TEST_P(EachFamily, TraitsAreSane) {
  for (const std::vector<int>& point : some_valid_points(family())) {
    const Traits t = family().traits(point);
    const std::string text = to_string(family().config(point));
    EXPECT_EQ(t.threads % 32, 0) << text;
    EXPECT_EQ(t.threads * t.thread_m * t.thread_n, t.tile_m * t.tile_n * t.threads_along_k) << text;
    EXPECT_GE(t.registers_estimate, t.thread_m * t.thread_n) << text;
    EXPECT_GE(t.feed_wavefronts_per_k, t.feed_instructions_per_k) << text;
    EXPECT_GE(t.fill_wavefronts_per_tile_k, t.fill_instructions_per_tile_k) << text;
    EXPECT_EQ(t.reads_global_in_inner_loop, t.smem_bytes == 0) << text;
    EXPECT_EQ(t.barriers_per_tile_k > 0, t.smem_bytes > 0) << text;
  }
}

INSTANTIATE_TEST_SUITE_P(Families, EachFamily, testing::ValuesIn(names_of_families()),
                         [](const auto& family) { return family.param; });

struct Rejection {
  const char* config;
  const char* reason;
};

TEST(Family, RejectsForTheReasonAtFault) {
  const Rejection rejections[] = {
      {"naive/BM=64,BN=32,COALESCED=1,PRED=1", "more than 1024 threads per CTA"},
      {"naive/BM=3,BN=8,COALESCED=1,PRED=1", "threads per CTA are not whole warps"},
      {"naive/BM=16,BN=16,COALESCED=2,PRED=1", "COALESCED and PRED must be 0 or 1"},
      {"smem_tiled/BM=16,BN=16,BK=0,UNROLL=1,PRED=1", "tile sizes must lie between 1 and 1024"},
      {"smem_tiled/BM=16,BN=16,BK=8,UNROLL=4,PRED=1", "UNROLL and PRED must be 0 or 1"},
      {"coarsened_1d/BM=64,BN=64,BK=8,TM=7,PRED=1", "thread tile does not divide CTA tile"},
      {"coarsened_1d/BM=256,BN=32,BK=8,TM=256,PRED=1",
       "thread tile holds more than 128 accumulators"},
      {"tiled_2d/BM=128,BN=128,BK=8,TM=2,TN=2,PRED=0", "more than 1024 threads per CTA"},
      {"tiled_2d/BM=2000000000,BN=2000000000,BK=8,TM=1,TN=1,PRED=0",
       "tile sizes must lie between 1 and 1024"},
      {"vectorized_2d/BM=4,BN=128,BK=8,TM=8,TN=8,VEC=4,PAD=0,INTERLEAVE=0,PRED=0",
       "thread tile does not divide CTA tile"},
      {"vectorized_2d/BM=128,BN=128,BK=8,TM=8,TN=8,VEC=3,PAD=0,INTERLEAVE=0,PRED=0",
       "VEC must be 1, 2 or 4"},
      {"vectorized_2d/BM=128,BN=128,BK=8,TM=8,TN=8,VEC=4,PAD=-1,INTERLEAVE=0,PRED=0",
       "PAD must lie between 0 and 32"},
      {"vectorized_2d/BM=128,BN=128,BK=6,TM=8,TN=8,VEC=4,PAD=0,INTERLEAVE=0,PRED=0",
       "vector access does not divide a row of a slice"},
      {"vectorized_2d/BM=32,BN=128,BK=8,TM=4,TN=4,VEC=4,PAD=0,INTERLEAVE=0,PRED=0",
       "slice of A is not a whole number of vector loads per thread"},
      {"vectorized_2d/BM=128,BN=32,BK=8,TM=4,TN=4,VEC=4,PAD=0,INTERLEAVE=0,PRED=0",
       "slice of B is not a whole number of vector loads per thread"},
      {"vectorized_2d/BM=64,BN=64,BK=8,TM=4,TN=4,VEC=1,PAD=0,INTERLEAVE=1,PRED=0",
       "interleaving needs more than one group per thread"},
      {"vectorized_2d/BM=256,BN=256,BK=8,TM=16,TN=16,VEC=4,PAD=0,INTERLEAVE=0,PRED=0",
       "thread tile holds more than 128 accumulators"},
  };
  for (const Rejection& rejection : rejections) {
    const Config config = parse_config(rejection.config);
    const KernelFamily& family = *find_family(config.family);
    std::vector<int> values;
    for (const ParamSpec& param : family.params) values.push_back(config.get(param.name).value());
    EXPECT_EQ(family.reject(values), rejection.reason) << rejection.config;
  }
}

}  // namespace
}  // namespace gemm_tune
