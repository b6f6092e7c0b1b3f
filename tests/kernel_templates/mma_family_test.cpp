// SPDX-License-Identifier: Apache-2.0
// mma's rules and specialisations, and how its slices lie in shared memory.

#include <set>
#include <string>
#include <vector>

#include "kernel_templates/device/copy/chunk_map.cuh"
#include "kernel_templates/registry/registry.h"
#include "tests/kernel_templates/spaces.h"
#include "tests/matchers.h"

namespace gemm_tune {
namespace {

constexpr const char* kTile = "BM=128,BN=128,BK=32,WM=64,WN=64,";

KnownConfig mma_config(const std::string& types, const std::string& rest) {
  return known("mma/" + types + kTile + rest);
}

struct MmaRejection {
  const char* config;
  const char* reason;
};

TEST(Mma, RejectsForTheReasonAtFault) {
  const MmaRejection rejections[] = {
      {"AB=3,CD=0,BM=32,BN=32,BK=32,WM=16,WN=16,MMA_K=16,STAGES=2,ASYNC=0,VEC=8,RASTER=8,SPLIT_K=1",
       "AB must be 0 for f32, 1 for f16 or 2 for bf16"},
      {"AB=0,CD=1,BM=32,BN=32,BK=32,WM=16,WN=16,MMA_K=8,STAGES=2,ASYNC=0,VEC=4,RASTER=8,SPLIT_K=1",
       "C and D are of f32 or of the operands' type"},
      {"AB=1,CD=2,BM=32,BN=32,BK=32,WM=16,WN=16,MMA_K=16,STAGES=2,ASYNC=0,VEC=8,RASTER=8,SPLIT_K=1",
       "C and D are of f32 or of the operands' type"},
      {"AB=2,CD=3,BM=32,BN=32,BK=32,WM=16,WN=16,MMA_K=16,STAGES=2,ASYNC=0,VEC=8,RASTER=8,SPLIT_K=1",
       "CD must be 0 for f32, 1 for f16 or 2 for bf16"},
      {"AB=2,CD=0,BM=32,BN=32,BK=32,WM=16,WN=16,MMA_K=8,STAGES=2,ASYNC=0,VEC=8,RASTER=8,SPLIT_K=1",
       "instructions of depth 8 are for f32 and f16, of depth 16 for f16 and bf16"},
      {"AB=0,CD=0,BM=32,BN=32,BK=32,WM=16,WN=16,MMA_K=16,STAGES=2,ASYNC=0,VEC=4,RASTER=8,SPLIT_K=1",
       "instructions of depth 8 are for f32 and f16, of depth 16 for f16 and bf16"},
      {"AB=2,CD=0,BM=32,BN=32,BK=16,WM=16,WN=16,MMA_K=16,STAGES=2,ASYNC=0,VEC=8,RASTER=8,SPLIT_K=1",
       "a slice has an even number of k steps"},
      {"AB=0,CD=0,BM=32,BN=32,BK=32,WM=16,WN=16,MMA_K=8,STAGES=2,ASYNC=0,VEC=8,RASTER=8,SPLIT_K=1,"
       "ACCURACY=2",
       "accesses of A and B are of 16 bytes at most"},
      {"AB=0,CD=0,BM=32,BN=32,BK=32,WM=16,WN=16,MMA_K=8,STAGES=2,ASYNC=0,VEC=1,RASTER=8,SPLIT_K=1,"
       "VECS=481,ACCURACY=2",
       "accesses of A and B are of 16 bytes at most"},
      {"AB=0,CD=0,BM=32,BN=32,BK=32,WM=16,WN=16,MMA_K=8,STAGES=2,ASYNC=0,VEC=4,RASTER=8,SPLIT_K=1",
       "f32 is of the class tf32, f16 of sums_fp32 or sums_fp16, bf16 of sums_fp32"},
      {"AB=2,CD=0,BM=32,BN=32,BK=32,WM=16,WN=16,MMA_K=16,STAGES=2,ASYNC=0,VEC=8,RASTER=8,SPLIT_K=1,"
       "ACCURACY=6",
       "f32 is of the class tf32, f16 of sums_fp32 or sums_fp16, bf16 of sums_fp32"},
      {"AB=2,CD=0,BM=32,BN=40,BK=32,WM=16,WN=16,MMA_K=16,STAGES=2,ASYNC=0,VEC=8,RASTER=8,SPLIT_K=1",
       "tile sizes must be multiples of 16 up to 1024"},
      {"AB=2,CD=0,BM=48,BN=32,BK=32,WM=32,WN=16,MMA_K=16,STAGES=2,ASYNC=0,VEC=8,RASTER=8,SPLIT_K=1",
       "warp tile does not divide CTA tile"},
      {"AB=2,CD=0,BM=256,BN=256,BK=32,WM=32,WN=32,MMA_K=16,STAGES=2,ASYNC=0,VEC=8,RASTER=8,"
       "SPLIT_K=1",
       "more than 512 threads per CTA"},
      {"AB=2,CD=0,BM=128,BN=128,BK=32,WM=128,WN=64,MMA_K=16,STAGES=2,ASYNC=0,VEC=8,RASTER=8,"
       "SPLIT_K=1",
       "registers hold no blocks beside the sums"},
      {"AB=2,CD=0,BM=32,BN=32,BK=32,WM=16,WN=16,MMA_K=16,STAGES=3,ASYNC=0,VEC=8,RASTER=8,SPLIT_K=1",
       "more than two stages need cp.async"},
      {"AB=2,CD=0,BM=32,BN=32,BK=32,WM=16,WN=16,MMA_K=16,STAGES=1,ASYNC=0,VEC=8,RASTER=8,SPLIT_K=1",
       "STAGES must lie between 2 and 8"},
      {"AB=2,CD=0,BM=32,BN=32,BK=32,WM=16,WN=16,MMA_K=16,STAGES=2,ASYNC=0,VEC=3,RASTER=8,SPLIT_K=1",
       "VEC must be 1, 2, 4 or 8"},
      {"AB=2,CD=0,BM=32,BN=32,BK=32,WM=16,WN=16,MMA_K=16,STAGES=2,ASYNC=0,VEC=1,RASTER=8,SPLIT_K=1,"
       "VECS=1000",
       "VECS must lie between 0 and 888"},
      {"AB=2,CD=0,BM=32,BN=32,BK=32,WM=16,WN=16,MMA_K=16,STAGES=2,ASYNC=0,VEC=1,RASTER=8,SPLIT_K=1,"
       "VECS=884",
       "VECS needs three digits of 1, 2, 4 and 8 that differ, VEC the least of them"},
      {"AB=2,CD=0,BM=32,BN=32,BK=32,WM=16,WN=16,MMA_K=16,STAGES=2,ASYNC=0,VEC=1,RASTER=8,SPLIT_K=1,"
       "VECS=881,REPACK=1",
       "VECS needs REPACK=0"},
      {"AB=2,CD=0,BM=32,BN=32,BK=32,WM=16,WN=16,MMA_K=16,STAGES=2,ASYNC=0,VEC=8,RASTER=8,SPLIT_K=1,"
       "CLUSTER=1",
       "a cluster is the 2 to 8 CTAs of SPLIT_K"},
      {"AB=2,CD=0,BM=32,BN=32,BK=32,WM=16,WN=16,MMA_K=16,STAGES=2,ASYNC=0,VEC=8,RASTER=8,"
       "SPLIT_K=16,CLUSTER=1",
       "a cluster is the 2 to 8 CTAs of SPLIT_K"},
  };
  const KernelFamily& family = *find_family("mma");
  for (const MmaRejection& rejection : rejections) {
    const Config config =
        parse_config("mma/" + std::string(rejection.config) + ",TA=0,TB=0,PRED=0");
    EXPECT_EQ(family.reject(values_in(family, config)), rejection.reason) << rejection.config;
  }
}

TEST(Mma, KnowsItsTypesAndWhatItsInstructionsNeed) {
  const std::string rest = "STAGES=2,ASYNC=0,VEC=8,RASTER=8,SPLIT_K=1,TA=0,TB=0,PRED=0";
  const KnownConfig turing = mma_config("AB=1,CD=0,", "MMA_K=8," + rest);
  EXPECT_EQ(turing.traits.signature, signature_of(ElementType::f16, ElementType::f32));
  EXPECT_EQ(turing.traits.least_sm, 75);
  EXPECT_EQ(turing.recipe.smem_bytes, 2 * (128 + 128) * 32 * 2);
  EXPECT_EQ(mma_config("AB=1,CD=1,", "MMA_K=16," + rest).traits.least_sm, 80);
  const KnownConfig ampere = mma_config("AB=2,CD=2,", "MMA_K=16," + rest);
  EXPECT_EQ(ampere.traits.signature, signature_of(ElementType::bf16));
  EXPECT_EQ(ampere.traits.least_sm, 80);
  const KnownConfig tf32 = known("mma/AB=0,CD=0," + std::string(kTile) +
                                 "MMA_K=8,STAGES=2,ASYNC=1,VEC=4,RASTER=8,SPLIT_K=1,TA=0,TB=0,"
                                 "PRED=0,ACCURACY=2");
  EXPECT_EQ(tf32.traits.signature, parse_signature("f32+tf32"));
  EXPECT_EQ(tf32.traits.least_sm, 80);
  EXPECT_EQ(tf32.traits.deeper_sm, 0);
  EXPECT_EQ(tf32.recipe.smem_bytes, 2 * (128 + 128) * 32 * 4);
}

TEST(Mma, PromotesSumsOfFp16EveryTwoSteps) {
  const std::string rest = "MMA_K=16,STAGES=3,ASYNC=1,VEC=8,RASTER=8,SPLIT_K=1,TA=0,TB=1,PRED=1";
  const std::string tile = "mma/AB=1,CD=1,BM=128,BN=128,BK=32,WM=64,WN=32,";
  const Traits plain = known(tile + rest).traits;
  const Traits promoted = known(tile + rest + ",ACCURACY=6").traits;
  EXPECT_EQ(promoted.signature, parse_signature("f16+sums_fp16"));
  EXPECT_EQ(promoted.promoted_k, 32);
  EXPECT_EQ(plain.promoted_k, 0);
  EXPECT_EQ(promoted.registers_estimate, plain.registers_estimate + 64 * 32 / 32 / 2);
  EXPECT_EQ(promoted.other_instructions_per_k, plain.other_instructions_per_k + 2 * 64 / 32.0);
}

// cp.async takes 4 bytes at least: an element of f32.
TEST(Mma, CopiesSingleElementsOfF32Asynchronously) {
  const KnownConfig single = known("mma/AB=0,CD=0," + std::string(kTile) +
                                   "MMA_K=8,STAGES=3,ASYNC=1,VEC=1,RASTER=8,SPLIT_K=1,TA=0,TB=0,"
                                   "PRED=1,ACCURACY=2");
  EXPECT_TRUE(single.traits.async_copy);
}

// The k steps of tf32 are half as deep, and its operands are loaded one by one across stored rows.
TEST(Mma, LoadsAsManyBytesOfF32WithMoreInstructions) {
  const auto traits = [&](const std::string& ab, const std::string& layout) {
    return known("mma/AB=" + ab + ",CD=0," + kTile + "STAGES=3,ASYNC=1,RASTER=8,SPLIT_K=1,PRED=1," +
                 layout)
        .traits;
  };
  const Traits f16 = traits("1", "MMA_K=16,VEC=8,TA=1,TB=0");
  const Traits along = traits("0", "MMA_K=8,VEC=4,ACCURACY=2,TA=0,TB=1");
  const Traits across = traits("0", "MMA_K=8,VEC=4,ACCURACY=2,TA=1,TB=0");
  EXPECT_EQ(along.feed_instructions_per_k, 2 * f16.feed_instructions_per_k);
  EXPECT_EQ(across.feed_instructions_per_k, 8 * f16.feed_instructions_per_k);
  EXPECT_EQ(along.feed_wavefronts_per_k, 2 * f16.feed_wavefronts_per_k);
  EXPECT_EQ(across.feed_wavefronts_per_k, along.feed_wavefronts_per_k);
}

TEST(Mma, ServesUntunedProblemsOfItsSignatures) {
  const KernelFamily& family = *find_family("mma");
  const auto untuned = [&](const char* signature, int sm) {
    const auto values = family.untuned(parse_signature(signature), sm);
    return values ? to_string(family.config(*values)) : "";
  };
  const std::string rest = "STAGES=2,ASYNC=0,VEC=8,RASTER=8,SPLIT_K=1,TA=0,TB=0,PRED=1";
  const std::string tile = "BM=64,BN=64,BK=32,WM=32,WN=32,";
  EXPECT_EQ(untuned("f16/f16/f32/f32", 75), "mma/AB=1,CD=0," + tile + "MMA_K=8," + rest);
  EXPECT_EQ(untuned("bf16", 80), "mma/AB=2,CD=2," + tile + "MMA_K=16," + rest);
  EXPECT_EQ(untuned("f32+tf32", 86), "mma/AB=0,CD=0," + tile +
                                         "MMA_K=8,STAGES=2,ASYNC=0,VEC=4,RASTER=8,SPLIT_K=1,TA=0,"
                                         "TB=0,PRED=1,ACCURACY=2");
  EXPECT_EQ(untuned("f16+sums_fp16", 75),
            "mma/AB=1,CD=1," + tile + "MMA_K=8," + rest + ",ACCURACY=6");
  EXPECT_EQ(untuned("bf16+sums_fp16", 90), "");
  EXPECT_EQ(untuned("bf16", 75), "");
  EXPECT_EQ(untuned("f32+tf32", 75), "");
  EXPECT_EQ(untuned("f32", 86), "");
  EXPECT_EQ(untuned("e4m3/e4m3/bf16/bf16", 89), "");
}

TEST(Mma, HasKernelsOfItsSignaturesOnly) {
  const KernelFamily& family = *find_family("mma");
  for (const ElementType type : {ElementType::f16, ElementType::bf16}) {
    EXPECT_TRUE(family.supports(signature_of(type)));
    EXPECT_TRUE(family.supports(signature_of(type, ElementType::f32)));
  }
  for (const char* signature : {"f32+tf32", "f16+sums_fp16", "f16/f16/f32/f32+sums_fp16"}) {
    EXPECT_TRUE(family.supports(parse_signature(signature))) << signature;
  }
  EXPECT_FALSE(family.supports(parse_signature("bf16+sums_fp16")));
  EXPECT_FALSE(family.supports(Signature()));
  EXPECT_FALSE(family.supports(signature_of(ElementType::f32, ElementType::f16)));
  EXPECT_EQ(families_of(signature_of(ElementType::bf16)),
            (std::vector<const KernelFamily*>{&family, find_family("wgmma")}));
}

TEST(Signatures, WithoutKernelsHaveTheReason) {
  EXPECT_TRUE(is_served(Signature()));
  EXPECT_TRUE(is_served(signature_of(ElementType::bf16, ElementType::f32)));
  EXPECT_EQ(why_unserved(Signature()), std::nullopt);
  EXPECT_EQ(why_unserved(parse_signature("e4m3/e4m3/bf16/bf16")), std::nullopt);
  EXPECT_EQ(why_unserved(parse_signature("e5m2/e5m2/bf16/bf16")),
            "no kernel family has kernels of the types e5m2/e5m2/bf16/bf16 yet");
  EXPECT_EQ(why_unserved(signature_of(ElementType::f16, ElementType::bf16)),
            "no kernel family has kernels of the types f16/f16/bf16/bf16 yet");
  EXPECT_EQ(why_unserved(parse_signature("f32+tf32")), std::nullopt);
  EXPECT_EQ(why_unserved(parse_signature("f32/bf16/f32/f32+tf32")),
            "no kernel family has the accuracy class tf32 (operands rounded to tf32) for "
            "f32/bf16/f32/f32 yet");
  for (const AccuracyInfo& info : kAccuracyTable) {
    if (info.operands != OperandKind::f32) continue;
    EXPECT_TRUE(is_served(parse_signature("f32+" + std::string(info.name)))) << info.name;
  }
}

TEST(Mma, ServesProblemsOfItsTypesOnly) {
  const std::string rest = "STAGES=2,ASYNC=0,VEC=8,RASTER=8,SPLIT_K=1,TA=0,TB=0,PRED=1";
  const KnownConfig config = mma_config("AB=2,CD=0,", "MMA_K=16," + rest);
  const auto problem = [](const Signature& signature) {
    return packed_problem(128, 128, 128, Layout::nn, 1, signature);
  };
  const Signature bf16 = signature_of(ElementType::bf16);
  EXPECT_EQ(why_illegal(config.recipe, problem(signature_of(ElementType::bf16, ElementType::f32))),
            std::nullopt);
  EXPECT_THAT(why_illegal(config.recipe, problem(bf16)),
              Optional(AllOf(HasSubstr("for bf16/bf16/f32/f32"), HasSubstr("has bf16"))));
  EXPECT_THAT(why_illegal(config.recipe, problem(Signature())),
              Optional(AllOf(HasSubstr("for bf16/bf16/f32/f32"), HasSubstr("has f32"))));
}

// cp.async takes 4 bytes at least: the narrowest specialisation does without.
TEST(Mma, IsHandedOutWithEveryAccessWidth) {
  const KnownConfig winner = mma_config(
      "AB=1,CD=0,", "MMA_K=8,STAGES=3,ASYNC=1,VEC=8,RASTER=8,SPLIT_K=1,TA=1,TB=0,PRED=0");
  std::vector<int> widths, least_sms, predicated;
  for (const KnownConfig& variant : served_variants(winner)) {
    EXPECT_EQ(variant.family->reject(variant.values), std::nullopt);
    EXPECT_EQ(variant.traits.signature, winner.traits.signature);
    widths.push_back(variant.traits.vec);
    least_sms.push_back(variant.traits.least_sm);
    predicated.push_back(variant.traits.predicated);
  }
  EXPECT_THAT(widths, ElementsAre(8, 8, 4, 2, 1));
  EXPECT_THAT(least_sms, ElementsAre(80, 80, 80, 80, 75));
  EXPECT_THAT(predicated, ElementsAre(0, 1, 1, 1, 1));
}

// Rows of 1,536 bytes of A and of B are aligned where N is odd, and D's are not.
TEST(Mma, CopiesAlignedOperandsWidelyWhereDIsNot) {
  const std::string rest = "MMA_K=16,STAGES=3,ASYNC=1,VEC=1,RASTER=8,SPLIT_K=1,TA=0,TB=1,PRED=1";
  const KnownConfig odd = mma_config("AB=2,CD=2,", rest + ",VECS=881");
  EXPECT_TRUE(odd.traits.async_copy);
  EXPECT_FALSE(mma_config("AB=2,CD=2,", rest).traits.async_copy);
  const Signature bf16 = signature_of(ElementType::bf16);
  EXPECT_EQ(why_illegal(odd.recipe, packed_problem(8, 50257, 768, Layout::nt, 1, bf16)),
            std::nullopt);
  EXPECT_NE(why_illegal(odd.recipe, packed_problem(8, 50257, 767, Layout::nt, 1, bf16)),
            std::nullopt);
}

TEST(Mma, ClusterTakesSharedMemoryAndNoWorkspace) {
  const std::string rest = "MMA_K=16,STAGES=2,ASYNC=1,VEC=8,RASTER=8,SPLIT_K=4,TA=0,TB=1,PRED=1";
  const KnownConfig alone = mma_config("AB=2,CD=2,", rest);
  const KnownConfig cluster = mma_config("AB=2,CD=2,", rest + ",CLUSTER=1");
  EXPECT_EQ(alone.traits.cluster_ctas, 1);
  EXPECT_EQ(cluster.traits.cluster_ctas, 4);
  EXPECT_EQ(cluster.recipe.smem_bytes, alone.recipe.smem_bytes + 128 * 128 * 4);
  const Problem problem =
      packed_problem(128, 256, 4096, Layout::nt, 1, signature_of(ElementType::bf16));
  EXPECT_GT(workspace_bytes(alone.recipe, launch_problem(problem), 132), 0);
  EXPECT_EQ(workspace_bytes(cluster.recipe, launch_problem(problem), 132), 0);
}

TEST(Mma, EveryPointHasAllOfItsSpecialisations) {
  const KernelFamily& family = *find_family("mma");
  for (const std::vector<int>& point : some_valid_points(family)) {
    for (const KnownConfig& variant : served_variants(known_config(family, point))) {
      EXPECT_EQ(family.reject(variant.values), std::nullopt)
          << to_string(family.config(point)) << " as " << to_string(variant.config());
    }
  }
}

// Chunks per row of every slice that the space has, and odd ones.
constexpr int kChunkCounts[] = {1, 2, 3, 4, 5, 6, 8, 12, 16, 24, 32};

TEST(ChunkMap, GivesEveryChunkAPlaceOfItsOwnInItsRow) {
  for (const int chunks : kChunkCounts) {
    for (int row = 0; row < 64; ++row) {
      std::set<int> places, of_four_rows;
      for (int chunk = 0; chunk < chunks; ++chunk) {
        EXPECT_EQ(chunk_offset(row, chunk, chunks) / chunks, row);
        EXPECT_EQ(chunk_offset<ChunkReads::four_rows>(row, chunk, chunks) / chunks, row);
        places.insert(chunk_offset(row, chunk, chunks));
        of_four_rows.insert(chunk_offset<ChunkReads::four_rows>(row, chunk, chunks));
      }
      EXPECT_EQ(places.size(), static_cast<std::size_t>(chunks));
      EXPECT_EQ(of_four_rows.size(), static_cast<std::size_t>(chunks));
    }
  }
}

// The 8 groups of banks, of 16 bytes each, in which chunks lie.
int banks_of(const std::vector<int>& places) {
  std::set<int> groups;
  for (const int place : places) groups.insert(place % 8);
  return static_cast<int>(groups.size());
}

TEST(ChunkMap, LetsLdmatrixMeetNoBankTwice) {
  for (const int chunks : kChunkCounts) {
    for (int first = 0; first < 64; first += 8) {
      for (int chunk = 0; chunk < chunks; ++chunk) {
        std::vector<int> rows;
        for (int row = first; row < first + 8; ++row) {
          rows.push_back(chunk_offset(row, chunk, chunks));
        }
        EXPECT_EQ(banks_of(rows), 8) << chunks << " chunks, chunk " << chunk;
      }
    }
  }
}

// A lane's element is of one of four rows and of eight neighbours in it, which are two chunks.
TEST(ChunkMap, LetsElementsOfFourRowsMeetNoBankTwice) {
  for (const int chunks : {4, 8, 12, 16, 20, 24, 32, 64}) {
    for (int first = 0; first < 64; first += 4) {
      for (int chunk = 0; chunk < chunks; chunk += 2) {
        std::vector<int> loaded;
        for (int row = first; row < first + 4; ++row) {
          for (const int neighbour : {0, 1}) {
            loaded.push_back(chunk_offset<ChunkReads::four_rows>(row, chunk + neighbour, chunks));
          }
        }
        EXPECT_EQ(banks_of(loaded), 8) << chunks << " chunks, chunk " << chunk;
      }
    }
  }
}

// A quarter of a warp stores 128 bytes at once.
TEST(ChunkMap, LetsNeighbouringThreadsStoreIntoDifferentBanks) {
  for (const int chunks : {2, 4, 8, 16, 32}) {
    for (int thread = 0; thread < 128; thread += 8) {
      std::vector<int> stored, of_four_rows;
      for (int i = 0; i < 8; ++i) {
        const ChunkPlace place = chunk_place(thread + i, 0, 128, chunks);
        stored.push_back(chunk_offset(place.row, place.chunk, chunks));
        of_four_rows.push_back(chunk_offset<ChunkReads::four_rows>(place.row, place.chunk, chunks));
      }
      EXPECT_EQ(banks_of(stored), 8) << chunks << " chunks";
      EXPECT_EQ(banks_of(of_four_rows), 8) << chunks << " chunks";
    }
  }
}

TEST(ChunkMap, DealsEveryChunkOutOnce) {
  for (const int chunks : kChunkCounts) {
    for (const int rows : {16, 48, 128}) {
      std::set<std::pair<int, int>> dealt;
      int times = 0;
      for (int pass = 0; pass < chunk_passes(rows, chunks, 96); ++pass) {
        for (int thread = 0; thread < 96; ++thread) {
          const ChunkPlace place = chunk_place(thread, pass, 96, chunks);
          if (place.row >= rows) continue;
          dealt.insert({place.row, place.chunk});
          ++times;
        }
      }
      EXPECT_EQ(times, rows * chunks);
      EXPECT_EQ(dealt.size(), static_cast<std::size_t>(times));
    }
  }
}

}  // namespace
}  // namespace gemm_tune
