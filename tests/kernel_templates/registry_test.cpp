// SPDX-License-Identifier: Apache-2.0
#include "kernel_templates/registry/registry.h"

#include <algorithm>
#include <array>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/error.h"
#include "core/launch/launch_plan.h"
#include "tests/kernel_templates/spaces.h"
#include "tests/matchers.h"

namespace gemm_tune {
namespace {

constexpr const char* kVectorized =
    "vectorized_2d/BM=128,BN=64,BK=16,TM=8,TN=4,VEC=4,PAD=4,INTERLEAVE=1,PRED=0";

// Three parts of A would take 2.4e19 bytes, more than 64 bits count.
TEST(PlanTest, MatricesBeyondEveryAddressHaveNone) {
  const KnownConfig config = check_config(
      parse_config("wgmma_parts/BM=64,BN=16,GROUPS=1,PROMOTE=32,TA=0,TB=0,ACCURACY=4"));
  const auto plan_at = [&](const std::string& sizes) {
    return config.plan(parse_problem(sizes + ":type=f32+fp32_bf16x6"), 132);
  };
  EXPECT_GT(plan_at("2000000x64x2000000").workspace_bytes, 0);
  EXPECT_THAT([&] { plan_at("2000000000x64x2000000000"); },
              testing::ThrowsMessage<UsageError>(
                  testing::HasSubstr("take more than 2^47 bytes, which no GPU has addresses for")));
}

Problem problem(std::int64_t M, std::int64_t N, std::int64_t K, int alignment) {
  Problem p = packed_problem(M, N, K);
  p = in_class(p, alignment);
  return p;
}

// names: of parameters for accesses' width, a number of shares, A's and B's layout, predication.
KernelFamily synthetic_family(const std::array<const char*, 5>& names) {
  KernelFamily family;
  family.name = "synthetic";
  family.params = {{names[0], {}, "", Role::vector_width},
                   {names[1], {}, ""},
                   {names[2], {}, "", Role::transposed_a},
                   {names[3], {}, "", Role::transposed_b},
                   {names[4], {}, "", Role::predicated}};
  family.traits = [](Values v) {
    Traits traits;
    traits.tile_m = traits.tile_n = 16;
    traits.vec = v[0];
    traits.split_k = v[1];
    traits.transposed_a = v[2] != 0;
    traits.transposed_b = v[3] != 0;
    traits.predicated = v[4] != 0;
    return traits;
  };
  return family;
}

// M, N and K of a problem that the kernel takes are multiples of these.
std::vector<int> multiples(const LaunchRecipe& recipe) {
  return {recipe.multiple_m, recipe.multiple_n, recipe.multiple_k};
}

TEST(CheckConfig, GivesTheRecipeOfAnUnpredicatedKernel) {
  const LaunchRecipe recipe = known(kVectorized).recipe;
  EXPECT_EQ(recipe.block_threads, 256);
  EXPECT_EQ(recipe.tile_m, 128);
  EXPECT_EQ(recipe.tile_n, 64);
  EXPECT_EQ(recipe.smem_bytes, (16 * 132 + 16 * 68) * 4);
  EXPECT_EQ(recipe.split_k, 1);
  EXPECT_EQ(recipe.alignment, 4);
  EXPECT_EQ(multiples(recipe), std::vector({128, 64, 16}));
}

TEST(CheckConfig, GivesTheRecipeOfAPredicatedKernel) {
  const LaunchRecipe recipe = known("naive/BM=8,BN=32,COALESCED=1,PRED=1").recipe;
  EXPECT_EQ(recipe.block_threads, 256);
  EXPECT_EQ(recipe.smem_bytes, 0);
  EXPECT_EQ(recipe.alignment, 1);
  EXPECT_EQ(multiples(recipe), std::vector({1, 1, 1}));
}

TEST(CheckConfig, NaiveWithoutPredicatesTakesAnyK) {
  EXPECT_EQ(multiples(known("naive/BM=8,BN=32,COALESCED=1,PRED=0").recipe),
            std::vector({8, 32, 1}));
}

TEST(CheckConfig, PutsParametersIntoCanonicalOrder) {
  EXPECT_EQ(to_string(known("naive/PRED=1,COALESCED=0,BN=32,BM=8").config()),
            "naive/BM=8,BN=32,COALESCED=0,PRED=1");
}

TEST(CheckConfig, TextsNameLayoutWidthAndPredicationAsParameters) {
  const std::string tile =
      "warp_tiled/CLUSTER=0,BM=64,BN=64,BK=16,WM=32,WN=32,TM=8,TN=4,WARPS_K=1,STAGES=2,ASYNC=0,"
      "FRAGMENTS=2,VEC=2,RASTER=8,CTAS=1,SPLIT_K=1,TAIL=0,";
  const KnownConfig config = known(tile + "TA=0,TB=1,PRED=0");
  EXPECT_EQ(config.specialisation(), (Specialisation{Layout::nt, 2, false}));
  EXPECT_EQ(to_string(config.config()), tile + "TA=0,TB=1,PRED=0");
  EXPECT_EQ(known(tile + "TA=1,TB=0,PRED=1").specialisation(),
            (Specialisation{Layout::tn, 2, true}));
  EXPECT_EQ(known(tile + "PRED=1,TB=1,TA=1").specialisation(),
            (Specialisation{Layout::tt, 2, true}));
}

template <class Sentence>
void expect_refused(const char* config, const Sentence& sentence) {
  EXPECT_THAT([&] { known(config); }, ThrowsMessage<UsageError>(sentence));
}

TEST(CheckConfig, NamesTheUnknownFamily) {
  expect_refused("naïve/BM=8", AllOf(HasSubstr("'naïve' is not a kernel family"),
                                     HasSubstr("naive, smem_tiled, coarsened_1d")));
}

TEST(CheckConfig, NamesTheMisspeltParameter) {
  expect_refused("naive/BM=8,BN=32,COALESCE=1,PRED=1",
                 AllOf(HasSubstr("'COALESCE' is not a parameter of naive"),
                       HasSubstr("BM, BN, COALESCED, PRED")));
}

TEST(CheckConfig, NamesTheSurplusParameter) {
  expect_refused("naive/BM=8,BN=32,COALESCED=1,PRED=1,VEC=4",
                 HasSubstr("'VEC' is not a parameter of naive"));
}

TEST(CheckConfig, NamesTheMissingParameter) {
  expect_refused("naive/BM=8,BN=32,PRED=1", HasSubstr("lacks COALESCED"));
}

TEST(CheckConfig, NamesTheBrokenRule) {
  EXPECT_THAT([] { known("naive/BM=64,BN=64,COALESCED=1,PRED=1"); },
              ThrowsMessage<UsageError>(
                  AllOf(HasSubstr("'naive/BM=64,BN=64,COALESCED=1,PRED=1' is illegal"),
                        HasSubstr("more than 1024 threads per CTA"))));
}

TEST(Specialised, IsTheSameTileUnderAnotherSpecialisation) {
  EXPECT_EQ(to_string(specialised(known(kVectorized), {Layout::nn, 2, true}).config()),
            "vectorized_2d/BM=128,BN=64,BK=16,TM=8,TN=4,VEC=2,PAD=4,INTERLEAVE=1,PRED=1");
  EXPECT_EQ(to_string(specialised(known(kVectorized), {Layout::nn, 4, true}).config()),
            "vectorized_2d/BM=128,BN=64,BK=16,TM=8,TN=4,VEC=4,PAD=4,INTERLEAVE=1,PRED=1");
}

TEST(Specialisation, KeepsTheLayoutAndHowTilesAreShared) {
  const KernelFamily family = synthetic_family({"VEC", "SPLIT_K", "TA", "TB", "PRED"});
  const KnownConfig winner = known_config(family, {4, 3, 1, 0, 0});
  EXPECT_EQ(winner.specialisation(), (Specialisation{Layout::tn, 4, false}));
  const KnownConfig specialisation = served_variants(winner).at(2);
  EXPECT_EQ(to_string(specialisation.config()), "synthetic/VEC=2,SPLIT_K=3,TA=1,TB=0,PRED=1");
  EXPECT_EQ(specialisation.recipe.layout, Layout::tn);
  EXPECT_EQ(specialisation.recipe.split_k, 3);
  EXPECT_EQ(specialisation.recipe.multiple_m, 1);
}

// The parameters' names say nothing: a tunable may be called VEC.
TEST(Specialised, GoesByTheRolesOfTheParameters) {
  const KernelFamily family = synthetic_family({"WIDTH", "VEC", "A_T", "B_T", "EDGES"});
  const KnownConfig winner = known_config(family, {4, 7, 0, 0, 0});
  EXPECT_EQ(to_string(specialised(winner, {Layout::nt, 2, true}).config()),
            "synthetic/WIDTH=2,VEC=7,A_T=0,B_T=1,EDGES=1");
  EXPECT_EQ(to_string(specialised(winner, {Layout::tn, 1, false}).config()),
            "synthetic/WIDTH=1,VEC=7,A_T=1,B_T=0,EDGES=0");
  EXPECT_EQ(served_variants(winner).size(), 4u);
}

TEST(Specialised, KeepsWhatTheFamilyHasNoParameterFor) {
  const KnownConfig config = known("naive/BM=8,BN=32,COALESCED=1,PRED=0");
  EXPECT_EQ(config.specialisation(), (Specialisation{Layout::nn, 1, false}));
  const KnownConfig other = specialised(config, {Layout::tt, 4, true});
  EXPECT_EQ(to_string(other.config()), "naive/BM=8,BN=32,COALESCED=1,PRED=1");
  EXPECT_EQ(other.specialisation(), (Specialisation{Layout::nn, 1, true}));
}

TEST(Specialisation, OfANarrowConfigIsNotWidened) {
  const KnownConfig narrow =
      known("vectorized_2d/BM=128,BN=64,BK=16,TM=8,TN=4,VEC=1,PAD=0,INTERLEAVE=0,PRED=1");
  ASSERT_EQ(served_variants(narrow).size(), 1u);
  EXPECT_EQ(served_variants(narrow)[0].config(), narrow.config());
}

// Where a family's vector accesses want whole vectors along an edge, only narrower ones serve it.
TEST(Specialisation, OfAnyValidPointIsValidAndOneServesARaggedProblem) {
  for (const KernelFamily& family : families()) {
    for (const std::vector<int>& point : some_valid_points(family)) {
      const KnownConfig config = check_config(family.config(point));
      for (const KnownConfig& specialisation : served_variants(config)) {
        EXPECT_EQ(family.reject(specialisation.values), std::nullopt)
            << to_string(specialisation.config());
      }
      const bool is_of_any = family.find_role(Role::vector_width).has_value();
      for (const int alignment : {1, 2, 4, 8}) {
        if (alignment == 8 && config.traits.signature.a == ElementType::f32) continue;
        if (alignment < config.recipe.alignment && !is_of_any) continue;
        Problem ragged =
            packed_problem(13, 17, 19, config.recipe.layout, 1, config.traits.signature);
        ragged = in_class(ragged, alignment);
        ragged.batch_kind = config.recipe.batch_kind;
        const auto legal = legal_for(config, ragged);
        ASSERT_TRUE(legal.has_value()) << to_string(config.config());
        EXPECT_EQ(why_illegal(legal->config.recipe, ragged), std::nullopt)
            << to_string(legal->config.config());
      }
    }
  }
}

std::vector<std::string> served(const std::string& config) {
  std::vector<std::string> texts;
  for (const KnownConfig& variant : served_variants(known(config))) {
    texts.push_back(to_string(variant.config()));
  }
  return texts;
}

TEST(ServedVariants, AreTheWinnerAndItsSpecialisationsByFallingAlignment) {
  const std::string tile = "vectorized_2d/BM=128,BN=64,BK=16,TM=8,TN=4,";
  EXPECT_EQ(
      served(tile + "VEC=4,PAD=4,INTERLEAVE=1,PRED=0"),
      (std::vector<std::string>{
          tile + "VEC=4,PAD=4,INTERLEAVE=1,PRED=0", tile + "VEC=4,PAD=4,INTERLEAVE=1,PRED=1",
          tile + "VEC=2,PAD=4,INTERLEAVE=1,PRED=1", tile + "VEC=1,PAD=4,INTERLEAVE=1,PRED=1"}));
  EXPECT_EQ(served(tile + "VEC=2,PAD=4,INTERLEAVE=1,PRED=1"),
            (std::vector<std::string>{tile + "VEC=2,PAD=4,INTERLEAVE=1,PRED=1",
                                      tile + "VEC=1,PAD=4,INTERLEAVE=1,PRED=1"}));
  EXPECT_EQ(served("naive/BM=8,BN=32,COALESCED=1,PRED=1"),
            (std::vector<std::string>{"naive/BM=8,BN=32,COALESCED=1,PRED=1"}));
}

// The finals verify the served variants and nothing else.
TEST(ServedVariants, HoldWhateverIsHandedOutForAnyEdgeAndAlignment) {
  for (const KernelFamily& family : families()) {
    const std::vector<std::vector<int>> points = some_valid_points(family);
    for (std::size_t i = 0; i < points.size(); i += 10) {
      const KnownConfig winner = check_config(family.config(points[i]));
      std::set<std::vector<int>> values, handed_out;
      for (const KnownConfig& variant : served_variants(winner)) values.insert(variant.values);
      for (const std::int64_t edge : {128, 130, 131}) {
        for (const int alignment : {1, 2, 4}) {
          Problem asked = problem(edge, edge, edge, alignment);
          asked.layout = winner.recipe.layout;
          const auto legal = legal_for(winner, asked);
          if (legal) handed_out.insert(legal->config.values);
        }
      }
      EXPECT_TRUE(std::includes(values.begin(), values.end(), handed_out.begin(), handed_out.end()))
          << to_string(winner.config());
    }
  }
}

TEST(LegalFor, NarrowsAccessesThatAnEdgeWouldCutInTwo) {
  const KnownConfig config = known(
      "warp_tiled/CLUSTER=0,BM=64,BN=64,BK=16,WM=32,WN=32,TM=8,TN=4,WARPS_K=1,STAGES=2,ASYNC=0,"
      "FRAGMENTS=2,VEC=4,RASTER=8,CTAS=1,SPLIT_K=1,TAIL=0,TA=0,TB=0,PRED=1");
  const auto vec_for = [&](std::int64_t K) {
    const auto legal = legal_for(config, problem(33, 20, K, 4));
    return legal ? legal->config.recipe.alignment : 0;
  };
  EXPECT_EQ(vec_for(40), 4);
  EXPECT_EQ(vec_for(42), 2);
  EXPECT_EQ(vec_for(43), 1);
}

TEST(LegalFor, KeepsAConfigThatMayServeTheProblem) {
  const auto legal = legal_for(known(kVectorized), problem(256, 192, 48, 4));
  ASSERT_TRUE(legal.has_value());
  EXPECT_FALSE(legal->is_specialisation);
  EXPECT_EQ(to_string(legal->config.config()), kVectorized);
}

TEST(LegalFor, KeepsAnUnpredicatedConfigWhereKIsZero) {
  const auto legal = legal_for(known(kVectorized), problem(256, 192, 0, 4));
  ASSERT_TRUE(legal.has_value());
  EXPECT_FALSE(legal->is_specialisation);
}

TEST(LegalFor, GivesTheSpecialisationForARaggedProblem) {
  const auto legal = legal_for(known(kVectorized), problem(257, 192, 48, 4));
  ASSERT_TRUE(legal.has_value());
  EXPECT_TRUE(legal->is_specialisation);
  EXPECT_EQ(to_string(legal->config.config()),
            "vectorized_2d/BM=128,BN=64,BK=16,TM=8,TN=4,VEC=4,PAD=4,INTERLEAVE=1,PRED=1");
}

TEST(LegalFor, GivesANarrowSpecialisationForAMisalignedProblem) {
  const auto legal = legal_for(known(kVectorized), problem(256, 192, 48, 1));
  ASSERT_TRUE(legal.has_value());
  EXPECT_TRUE(legal->is_specialisation);
  EXPECT_EQ(legal->config.recipe.alignment, 1);
}

TEST(LegalFor, GivesNothingForABatch) {
  Problem batched = problem(256, 192, 48, 4);
  batched.batch = 70000;
  EXPECT_FALSE(legal_for(known(kVectorized), batched).has_value());
}

TEST(WhyIllegal, NamesTheEdgeThatIsNoMultiple) {
  const LaunchRecipe recipe = known(kVectorized).recipe;
  EXPECT_THAT(why_illegal(recipe, problem(129, 64, 16, 4)),
              Optional(AllOf(HasSubstr("M = 129"), HasSubstr("128"))));
  EXPECT_THAT(why_illegal(recipe, problem(128, 65, 16, 4)),
              Optional(AllOf(HasSubstr("N = 65"), HasSubstr("64 and"))));
  EXPECT_THAT(why_illegal(recipe, problem(128, 64, 17, 4)),
              Optional(AllOf(HasSubstr("K = 17"), HasSubstr("16"))));
}

TEST(WhyIllegal, NamesTheAlignment) {
  EXPECT_THAT(why_illegal(known(kVectorized).recipe, problem(128, 64, 16, 2)),
              Optional(AllOf(HasSubstr("need align=16;"), HasSubstr("has align=8"))));
}

TEST(ServedVariants, OfAConfigWithALaunchBeforeAlsoDoWithout) {
  const std::string tile = "vectorized_2d/BM=128,BN=64,BK=16,TM=8,TN=4,";
  EXPECT_EQ(served(tile + "VEC=4,PAD=4,INTERLEAVE=1,PRED=0,REPACK=1"),
            (std::vector<std::string>{tile + "VEC=4,PAD=4,INTERLEAVE=1,PRED=0,REPACK=1",
                                      tile + "VEC=4,PAD=4,INTERLEAVE=1,PRED=1,REPACK=1",
                                      tile + "VEC=4,PAD=4,INTERLEAVE=1,PRED=1",
                                      tile + "VEC=2,PAD=4,INTERLEAVE=1,PRED=1",
                                      tile + "VEC=1,PAD=4,INTERLEAVE=1,PRED=1"}));
}

TEST(CheckConfig, ATextThatDoesNotNameRepackHasNoLaunchBefore) {
  const KnownConfig plain = known(kVectorized);
  EXPECT_FALSE(plain.recipe.repack);
  EXPECT_EQ(to_string(known(std::string(kVectorized) + ",REPACK=0").config()), kVectorized);
  const KnownConfig repack = known(std::string(kVectorized) + ",REPACK=1");
  EXPECT_TRUE(repack.recipe.repack);
  EXPECT_EQ(to_string(repack.config()), std::string(kVectorized) + ",REPACK=1");
  EXPECT_THAT([] { known(std::string(kVectorized) + ",REPACK=2"); },
              ThrowsMessage<UsageError>(HasSubstr("REPACK must be 0 or 1")));
}

// Rows and databases from before KEEP and STAGED_FIRST name neither.
TEST(CheckConfig, ATextWithoutLaterParametersIsTheKernelFromBeforeThem) {
  const std::string before =
      "skinny/CLUSTER=0,BS=1,TL=4,WARPS=8,LANES_K=1,UNROLL=8,VEC=4,SPLIT_K=8,SKINNY_N=0,TA=0,TB=0,"
      "PRED=0";
  EXPECT_EQ(to_string(known(before + ",KEEP=0,STAGED_FIRST=0").config()), before);
  const KnownConfig later = known(before + ",STAGED_FIRST=1,KEEP=6");
  EXPECT_EQ(to_string(later.config()), before + ",KEEP=6,STAGED_FIRST=1");
  EXPECT_EQ(later.traits.kept_sixteenths, 6);
  EXPECT_THAT([&] { known(before + ",KEEP=17"); },
              ThrowsMessage<UsageError>(HasSubstr("KEEP must lie between 0 and 16")));
  EXPECT_THAT([&] { known(before + ",STAGED_FIRST=2"); },
              ThrowsMessage<UsageError>(HasSubstr("STAGED_FIRST and POINTERS must be 0 or 1")));
}

TEST(CheckConfig, WholeLinesAreOfAccessesOf4BytesOnly) {
  const std::string up_to_vec =
      "warp_tiled/CLUSTER=0,BM=128,BN=128,BK=16,WM=64,WN=64,TM=16,TN=8,WARPS_K=1,STAGES=2,ASYNC=0,"
      "FRAGMENTS=2,VEC=";
  const std::string rest = ",RASTER=8,CTAS=1,SPLIT_K=1,TAIL=0,TA=0,TB=0,PRED=1";
  const KnownConfig lines = known(up_to_vec + "1" + rest + ",LINES=1");
  EXPECT_THAT([&] { known(up_to_vec + "4" + rest + ",LINES=1"); },
              ThrowsMessage<UsageError>(HasSubstr("LINES needs VEC=1")));
  EXPECT_EQ(to_string(specialised(lines, {Layout::nn, 4, true}).config()), up_to_vec + "4" + rest);
  EXPECT_EQ(specialised(lines, {Layout::tt, 1, false}).config().get("LINES"), 1);
  // The memory is what it is without them, so that as many CTAs are resident.
  EXPECT_EQ(lines.traits.smem_bytes, known(up_to_vec + "1" + rest).traits.smem_bytes);
}

constexpr const char* kUpToVec =
    "warp_tiled/CLUSTER=0,BM=64,BN=64,BK=16,WM=32,WN=32,TM=8,TN=4,WARPS_K=1,STAGES=2,ASYNC=0,"
    "FRAGMENTS=2,VEC=";

std::string of_widths(int vec, const std::string& after_pred, int pred = 1,
                      const std::string& layout = "TA=0,TB=0") {
  return kUpToVec + std::to_string(vec) + ",RASTER=8,CTAS=1,SPLIT_K=1,TAIL=0," + layout +
         ",PRED=" + std::to_string(pred) + after_pred;
}

TEST(CheckConfig, WidthsOfOperandsAreThreeThatDifferAndVecIsTheLeast) {
  const KnownConfig widths = known(of_widths(1, ",LINES=1,VECS=421"));
  EXPECT_EQ(widths.recipe.alignment_a, 4);
  EXPECT_EQ(widths.recipe.alignment_b, 2);
  EXPECT_EQ(widths.recipe.alignment_cd, 1);
  EXPECT_EQ(widths.recipe.alignment, 4);  // for who knows the least of a problem's only
  EXPECT_EQ(widths.recipe.multiple_k, 4);
  EXPECT_EQ(widths.recipe.multiple_n, 2);
  EXPECT_EQ(widths.recipe.multiple_m, 1);
  for (const int vecs : {41, 111, 222, 442, 831, 301}) {
    EXPECT_THAT([&] { known(of_widths(1, ",VECS=" + std::to_string(vecs))); },
                ThrowsMessage<UsageError>(HasSubstr("VECS ")))
        << vecs;
  }
  EXPECT_THAT([] { known(of_widths(1, ",REPACK=1,VECS=411")); },
              ThrowsMessage<UsageError>(HasSubstr("VECS needs REPACK=0")));
}

TEST(CheckConfig, AReductionNeedsSharesOutsideOfACluster) {
  const auto of_shares = [](int cluster, int split_k, int tail) {
    return "warp_tiled/CLUSTER=" + std::to_string(cluster) +
           ",BM=64,BN=64,BK=16,WM=32,WN=32,TM=8,TN=4,WARPS_K=1,STAGES=2,ASYNC=0,FRAGMENTS=2,VEC=4,"
           "RASTER=8,CTAS=1,SPLIT_K=" +
           std::to_string(split_k) + ",TAIL=" + std::to_string(tail) + ",TA=0,TB=0,PRED=1,REDUCE=1";
  };
  EXPECT_TRUE(known(of_shares(0, 4, 0)).traits.reduce);
  EXPECT_TRUE(known(of_shares(0, 1, 1)).traits.reduce);
  for (const std::string& text : {of_shares(0, 1, 0), of_shares(1, 4, 0)}) {
    EXPECT_THAT([&] { known(text); }, ThrowsMessage<UsageError>(HasSubstr("REDUCE needs shares")))
        << text;
  }
}

// A 16 x 8 slice for 512 threads: too few floats for accesses of 16 bytes by each warp.
TEST(CheckConfig, EachWidthOfAnOperandMustBeLegalAsTheWidthOfAll) {
  const std::string tile =
      "warp_tiled/CLUSTER=0,BM=16,BN=96,BK=8,WM=16,WN=32,TM=4,TN=4,WARPS_K=1,STAGES=2,ASYNC=0,"
      "FRAGMENTS=2,VEC=";
  const std::string rest = ",RASTER=8,CTAS=1,SPLIT_K=1,TAIL=0,TA=0,TB=0,PRED=1";
  const auto reason = [&](const std::string& text) -> std::string {
    try {
      known(text);
    } catch (const UsageError& error) {
      const std::string said = error.what();
      return said.substr(said.find("illegal: "));
    }
    return "";
  };
  ASSERT_NE(reason(tile + "4" + rest), "");
  EXPECT_EQ(reason(tile + "1" + rest + ",VECS=411"), reason(tile + "4" + rest));
}

TEST(CheckConfig, NoWidthIsForCopiesThatCpAsyncMakesOneByOne) {
  std::string config = of_widths(1, ",VECS=411");
  config.replace(config.find("ASYNC=0"), 7, "ASYNC=1");
  EXPECT_THAT([&] { known(config); },
              ThrowsMessage<UsageError>(HasSubstr("VECS widens copies that cp.async makes")));
  config.replace(config.find("TA=0"), 4, "TA=1");
  EXPECT_EQ(known(config).recipe.alignment_a, 4);
}

TEST(ServedVariants, OfWidthsOfOperandsEndWithTheLeastOfThemForAll) {
  EXPECT_EQ(served(of_widths(2, ",VECS=422", 0)),
            (std::vector<std::string>{of_widths(2, ",VECS=422", 0), of_widths(2, ",VECS=422"),
                                      of_widths(2, ""), of_widths(1, "")}));
  EXPECT_EQ(
      served(of_widths(1, ",LINES=1,VECS=411")),
      (std::vector<std::string>{of_widths(1, ",LINES=1,VECS=411"), of_widths(1, ",LINES=1")}));
}

TEST(LegalFor, AsksEachOperandForItsOwnAlignment) {
  const KnownConfig config = known(of_widths(1, ",VECS=411"));
  const auto text = [&](const std::string& problem) {
    return to_string(legal_for(config, parse_problem(problem)).value().config.config());
  };
  EXPECT_EQ(text("512x50257x768"), of_widths(1, ",VECS=411"));
  EXPECT_EQ(text("512x50256x768"), of_widths(1, ",VECS=411"));
  EXPECT_EQ(text("512x50257x768:align=8/4/4/4"), of_widths(1, ""));
  EXPECT_EQ(text("512x50257x768:align=4/16/16/16"), of_widths(1, ""));
  // A's rows begin well, and end within a vector.
  EXPECT_EQ(text("512x50257x767:align=16/4/4/4"), of_widths(1, ""));
}

}  // namespace
}  // namespace gemm_tune
