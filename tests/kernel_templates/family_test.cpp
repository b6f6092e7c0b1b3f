// SPDX-License-Identifier: Apache-2.0
#include "kernel_templates/family.h"

#include <map>

#include "tests/kernel_templates/spaces.h"
#include "tests/matchers.h"

namespace gemm_tune {
namespace {

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
  EXPECT_THAT(
      names_of(*find_family("vectorized_2d")),
      ElementsAre("BM", "BN", "BK", "TM", "TN", "VEC", "PAD", "INTERLEAVE", "PRED", "REPACK"));
  EXPECT_THAT(
      names_of(*find_family("warp_tiled")),
      ElementsAre("CLUSTER", "BM", "BN", "BK", "WM", "WN", "TM", "TN", "WARPS_K", "STAGES", "ASYNC",
                  "FRAGMENTS", "VEC", "RASTER", "CTAS", "SPLIT_K", "TAIL", "TA", "TB", "PRED",
                  "REPACK", "LINES", "VECS", "STEPPED", "REDUCE", "POINTERS", "TYPE_A", "TYPE_B"));
  EXPECT_THAT(names_of(*find_family("skinny")),
              ElementsAre("CLUSTER", "BS", "TL", "WARPS", "LANES_K", "UNROLL", "VEC", "SPLIT_K",
                          "SKINNY_N", "TA", "TB", "PRED", "REPACK", "KEEP", "STAGED_FIRST",
                          "POINTERS", "TYPE_A", "TYPE_B"));
}

TEST(Family, WithoutAParameterForTypesHasF32Only) {
  const KernelFamily& family = *find_family("naive");
  EXPECT_TRUE(family.supports(Signature()));
  EXPECT_FALSE(family.supports(signature_of(ElementType::bf16)));
  EXPECT_FALSE(family.supports(signature_of(ElementType::f16, ElementType::f32)));
  Signature mixed;
  mixed.accuracy = Accuracy::tf32;
  EXPECT_FALSE(family.supports(mixed));
}

TEST(Family, WithATypeForEachOperandHasOneOf16BitsBesideOneOfF32) {
  for (const char* name : {"skinny", "warp_tiled"}) {
    const KernelFamily& family = *find_family(name);
    for (const char* types : {"f32", "f32/bf16/f32/f32", "f32/f16/f32/f32", "bf16/f32/f32/f32"}) {
      EXPECT_TRUE(family.supports(parse_signature(types))) << name << " " << types;
    }
    for (const char* types : {"bf16", "bf16/bf16/f32/f32", "f16/bf16/f32/f32", "f32/bf16/bf16/bf16",
                              "f32/bf16/f32/f32+tf32", "f32/e4m3/f32/f32", "f32/s8/f32/f32"}) {
      EXPECT_FALSE(family.supports(parse_signature(types))) << name << " " << types;
    }
  }
  EXPECT_FALSE(find_family("mma")->supports(parse_signature("f32/bf16/f32/f32+tf32")));
}

TEST(Family, TheSmallSpacesHaveTheSizesThatTheirRulesLeave) {
  std::map<std::string, std::size_t> sizes;
  for (const KernelFamily& family : families()) {
    if (is_small(family)) sizes[family.name] = valid_points(family).size();
  }
  EXPECT_THAT(sizes, ElementsAre(Pair("coarsened_1d", 138u), Pair("naive", 36u),
                                 Pair("smem_tiled", 108u), Pair("tiled_2d", 300u),
                                 Pair("vectorized_2d", 21108u), Pair("wgmma_parts", 904u)));
}

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
    EXPECT_EQ(family.reject(values_in(family, config)), rejection.reason) << rejection.config;
  }
}

}  // namespace
}  // namespace gemm_tune
