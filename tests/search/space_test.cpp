// SPDX-License-Identifier: Apache-2.0
#include "search/space/space.h"

#include <gtest/gtest.h>

#include <map>
#include <numeric>
#include <random>
#include <set>
#include <string>
#include <vector>

namespace gemm_tune {
namespace {

// A family over plain integers; reject() is the first rule broken.
KernelFamily make_test_family(std::vector<ParamSpec> params, std::vector<FamilyRule> rules) {
  KernelFamily family;
  family.name = "synthetic";
  family.params = std::move(params);
  family.rules = std::move(rules);
  family.reject = [rules = family.rules](Values values) -> std::optional<std::string> {
    for (const FamilyRule& rule : rules) {
      if (rule.broken(values)) return rule.reason;
    }
    return std::nullopt;
  };
  family.traits = [](Values values) {
    Traits traits;
    traits.threads = 32 * values[0];
    traits.tile_m = traits.tile_n = 16;
    return traits;
  };
  return family;
}

std::uint64_t rejected_sum(const Space& space) {
  std::uint64_t sum = 0;
  for (const auto& [reason, count] : space.rejected) sum += count;
  return sum;
}

KernelFamily small_family() {
  return make_test_family(
      {{"A", {1, 2, 3}, ""}, {"B", {2, 4}, ""}, {"C", {0, 1}, ""}},
      {{"A is 3", {0}, [](Values v) { return v[0] == 3; }},
       {"A does not divide B", {0, 1}, [](Values v) { return v[1] % v[0] != 0; }},
       {"B + C is 5", {1, 2}, [](Values v) { return v[1] + v[2] == 5; }}});
}

TEST(SpaceTest, PointsComeWithTheLastParameterFastest) {
  const KernelFamily family = small_family();
  const Space space = enumerate({&family});
  std::vector<std::vector<int>> points;
  for (const KnownConfig& point : space.points) points.push_back(point.values);
  EXPECT_EQ(points, (std::vector<std::vector<int>>{
                        {1, 2, 0}, {1, 2, 1}, {1, 4, 0}, {2, 2, 0}, {2, 2, 1}, {2, 4, 0}}));
}

TEST(SpaceTest, RejectsUnderTheFirstRuleThatCouldBeJudged) {
  const KernelFamily family = small_family();
  const Space space = enumerate({&family});
  EXPECT_EQ(space.enumerated, 12u);
  EXPECT_EQ(space.rejected,
            (std::map<std::string, std::uint64_t>{{"A is 3", 4}, {"B + C is 5", 2}}));
}

TEST(SpaceTest, PointsCarryTraitsAndRecipe) {
  const KernelFamily family = small_family();
  const Space space = enumerate({&family});
  EXPECT_EQ(space.points[3].family, &family);
  EXPECT_EQ(space.points[3].traits.threads, 64);
  EXPECT_EQ(space.points[3].recipe.block_threads, 64);
  EXPECT_EQ(space.points[3].recipe.multiple_m, 16);
  EXPECT_EQ(to_string(space.points[3].config()), "synthetic/A=2,B=2,C=0");
}

TEST(SpaceTest, FurtherRulesOfTheCallerAreJudgedAndCountedLikeTheFamilysOwn) {
  const KernelFamily family = small_family();
  std::vector<int> seen;  // C, whenever the further rule is judged
  const auto further = [&seen](const KernelFamily&) -> std::vector<FamilyRule> {
    return {{"B is 4", {1}, [&seen](Values v) {
               seen.push_back(v[2]);
               return v[1] == 4;
             }}};
  };
  const Space space = enumerate({&family}, {}, nullptr, {}, further);
  EXPECT_EQ(space.points.size(), 4u);
  EXPECT_EQ(space.rejected.at("B is 4"), 6u);
  EXPECT_EQ(space.enumerated, space.points.size() + rejected_sum(space));
  EXPECT_EQ(seen, (std::vector<int>{1, 1}));  // before A and C are chosen
}

TEST(SpaceTest, ParametersThatTheProblemHasASayInAreChosenFirst) {
  int judged = 0;
  KernelFamily family = make_test_family(
      {{"A", {1, 2, 3}, ""}, {"VEC", {1, 2, 4}, "", Role::vector_width}, {"C", {5, 6}, ""}},
      {{"VEC is not 2", {1}, [&judged](Values v) {
          ++judged;
          return v[1] != 2;
        }}});
  const Space space = enumerate({&family});
  EXPECT_EQ(judged, 3);  // not once for each A
  std::vector<std::vector<int>> points;
  for (const KnownConfig& point : space.points) points.push_back(point.values);
  EXPECT_EQ(points, (std::vector<std::vector<int>>{
                        {1, 2, 5}, {1, 2, 6}, {2, 2, 5}, {2, 2, 6}, {3, 2, 5}, {3, 2, 6}}));
}

TEST(SpaceTest, RuleSeesPositiveValuesWhereNothingIsChosenYet) {
  int least = 1;
  const KernelFamily family =
      make_test_family({{"A", {1, 2}, ""}, {"Z", {0, 1}, ""}}, {{"", {0}, [&least](Values v) {
                                                                   least = std::min(least, v[1]);
                                                                   return false;
                                                                 }}});
  KernelFamily without_verdict = family;
  without_verdict.reject = [](Values) { return std::nullopt; };
  EXPECT_EQ(enumerate({&without_verdict}).points.size(), 4u);
  EXPECT_EQ(least, 1);
}

TEST(SpaceTest, AFixedParameterIsHeldToItsValue) {
  const KernelFamily family = small_family();
  const FixedParam fixed[] = {{"C", 1}, {"ABSENT", 7}};
  const Space space = enumerate({&family}, fixed);
  std::vector<std::vector<int>> points;
  for (const KnownConfig& point : space.points) points.push_back(point.values);
  EXPECT_EQ(points, (std::vector<std::vector<int>>{{1, 2, 1}, {2, 2, 1}}));
  EXPECT_EQ(space.enumerated, 6u);
  EXPECT_EQ(space.rejected,
            (std::map<std::string, std::uint64_t>{{"A is 3", 2}, {"B + C is 5", 2}}));
}

TEST(SpaceTest, AFixedValueThatTheFamilyDoesNotListLeavesNoPoints) {
  const KernelFamily family = small_family();
  const FixedParam fixed[] = {{"B", 3}};
  const Space space = enumerate({&family}, fixed);
  EXPECT_TRUE(space.points.empty());
  EXPECT_EQ(space.enumerated, 0u);
  EXPECT_EQ(rejected_sum(space), 0u);
}

TEST(SpaceTest, AParameterMayBeFixedForOneFamilyOnly) {
  const std::vector<KernelFamily> two = {small_family(), small_family()};
  const FixedParam fixed[] = {{"C", 1, &two[1]}};
  const Space space = enumerate({&two[0], &two[1]}, fixed);
  EXPECT_EQ(space.enumerated, 12u + 6u);
  EXPECT_EQ(space.points.size(), 6u + 2u);
}

TEST(SpaceTest, ARuleWaitsOnlyForParametersThatHaveAChoice) {
  std::vector<int> seen;  // C, whenever the rule is judged
  const KernelFamily family =
      make_test_family({{"A", {1, 2}, ""}, {"B", {1, 2, 3}, ""}, {"C", {4, 5}, ""}},
                       {{"A is 1", {0, 2}, [&seen](Values v) {
                           seen.push_back(v[2]);
                           return v[0] == 1;
                         }}});
  KernelFamily without_verdict = family;
  without_verdict.reject = [](Values) { return std::nullopt; };
  const FixedParam fixed[] = {{"C", 5}};
  EXPECT_EQ(enumerate({&without_verdict}, fixed).points.size(), 3u);
  EXPECT_EQ(seen, (std::vector<int>{5, 5}));  // once for each A
}

TEST(SpaceTest, WhatTheCallerTurnsDownIsCountedAndNotStored) {
  const KernelFamily family = small_family();
  const Space space =
      enumerate({&family}, {}, [](const KnownConfig& point) -> std::optional<std::string_view> {
        if (point.traits.threads > 32) return "too wide";
        return std::nullopt;
      });
  EXPECT_EQ(space.enumerated, 12u);
  EXPECT_EQ(space.points.size(), 3u);
  EXPECT_EQ(space.rejected, (std::map<std::string, std::uint64_t>{
                                {"A is 3", 4}, {"B + C is 5", 2}, {"too wide", 3}}));
}

TEST(SpaceTest, FamiliesAddUp) {
  const std::vector<KernelFamily> two = {small_family(), small_family()};
  const Space space = enumerate({&two[0], &two[1]});
  EXPECT_EQ(space.enumerated, 24u);
  ASSERT_EQ(space.points.size(), 12u);
  EXPECT_EQ(space.points[5].family, &two[0]);
  EXPECT_EQ(space.points[6].family, &two[1]);
}

TEST(SpaceTest, NoFamilyIsAnEmptySpace) {
  EXPECT_EQ(enumerate({}).enumerated, 0u);
  EXPECT_TRUE(enumerate({}).points.empty());
}

// A billion raw points, 491,520 valid ones: each rule ties two neighbouring parameters together.
TEST(SpaceTest, WorkForABillionRawPointsGrowsWithTheValidOnes) {
  std::vector<int> ten(10);
  std::iota(ten.begin(), ten.end(), 1);
  std::vector<ParamSpec> params;
  std::vector<FamilyRule> rules;
  std::uint64_t judged = 0;
  for (std::size_t i = 0; i < 9; ++i) params.push_back({std::string(1, char('A' + i)), ten, ""});
  for (std::size_t i = 1; i < 9; ++i) {
    rules.push_back({"not close above its neighbour", {i - 1, i}, [i, &judged](Values v) {
                       ++judged;
                       return (v[i] - v[i - 1] + 10) % 10 >= (i < 8 ? 4 : 3);
                     }});
  }
  KernelFamily family = make_test_family(params, rules);
  family.reject = [](Values) { return std::nullopt; };
  const Space space = enumerate({&family});
  EXPECT_EQ(space.enumerated, 1'000'000'000u);
  EXPECT_EQ(space.points.size(), 491'520u);
  EXPECT_EQ(space.enumerated, space.points.size() + rejected_sum(space));
  EXPECT_LT(judged, 5 * space.points.size());
}

TEST(SpaceTest, OfTooManyPointsAnEvenSampleIsKept) {
  std::vector<int> ten(10);
  std::iota(ten.begin(), ten.end(), 0);
  KernelFamily family = make_test_family(
      {{"A", ten, ""}, {"B", ten, ""}, {"C", ten, ""}, {"D", ten, ""}, {"E", ten, ""}}, {});
  family.reject = [](Values) { return std::nullopt; };
  const auto draw = [&](std::size_t most, std::uint64_t seed) {
    return enumerate({&family}, {}, nullptr, {most, seed});
  };
  const auto place = [](const KnownConfig& point) {
    return std::accumulate(
        point.values.begin(), point.values.end(), std::size_t{0},
        [](std::size_t sum, int value) { return 10 * sum + std::size_t(value); });
  };
  const Space space = draw(1000, 1);
  EXPECT_EQ(space.enumerated, 100'000u);
  EXPECT_EQ(space.valid, 100'000u);
  ASSERT_EQ(space.points.size(), 1000u);
  std::vector<int> of_tenth(10, 0);
  for (std::size_t i = 0; i < space.points.size(); ++i) {
    const KnownConfig& point = space.points[i];
    EXPECT_EQ(point.traits.threads, 32 * point.values[0]);
    if (i > 0) {
      EXPECT_LT(place(space.points[i - 1]), place(point));
    }
    ++of_tenth[place(point) / 10'000];
  }
  for (const int count : of_tenth) EXPECT_NEAR(count, 100, 40);

  const auto places = [&](const Space& of) {
    std::vector<std::size_t> all;
    for (const KnownConfig& point : of.points) all.push_back(place(point));
    return all;
  };
  EXPECT_EQ(places(draw(1000, 1)), places(space));
  EXPECT_NE(places(draw(1000, 2)), places(space));
  EXPECT_EQ(draw(100'000, 1).points.size(), 100'000u);
  EXPECT_EQ(draw(99'999, 1).points.size(), 99'999u);
}

// Four parameters, of which the problem's rule reads D and its verdict depends on A.
TEST(SpaceTest, WhatIsRememberedGivesEachProblemTheSameSpaceWithLessWork) {
  std::vector<int> ten(10);
  std::iota(ten.begin(), ten.end(), 1);
  std::uint64_t judged = 0;
  const KernelFamily family = make_test_family(
      {{"A", ten, ""}, {"B", ten, ""}, {"C", ten, ""}, {"D", ten, ""}},
      {{"B not below C", {1, 2}, [&](Values v) { return ++judged, v[1] >= v[2]; }}});
  const auto space_at = [&](int problem, SpaceMemory& memory) {
    const ProblemVeto veto = {
        [](const KnownConfig& point) -> std::optional<std::string_view> {
          return point.values[2] == 10 ? std::optional<std::string_view>("C is ten") : std::nullopt;
        },
        [](const KnownConfig& point) { return std::vector<int>{point.values[0]}; },
        [&](const KnownConfig& point) -> std::optional<std::string_view> {
          return point.values[0] % problem != 0
                     ? std::optional<std::string_view>("A is no multiple")
                     : std::nullopt;
        }};
    const auto rules = [&](const KernelFamily&) {
      return std::vector<FamilyRule>{
          {"D is large", {3}, [problem](Values v) { return v[3] > problem; }}};
    };
    return enumerate({&family}, {}, veto, {}, rules, memory);
  };
  SpaceMemory memory;
  for (const int problem : {2, 5, 3, 2}) {
    SpaceMemory none;
    const Space anew = space_at(problem, none);
    judged = 0;
    const Space remembered = space_at(problem, memory);
    EXPECT_EQ(anew.valid, std::uint64_t(10 / problem * 36 * problem)) << problem;
    EXPECT_EQ(anew.enumerated, anew.valid + rejected_sum(anew)) << problem;
    EXPECT_EQ(remembered.valid, anew.valid);
    EXPECT_EQ(remembered.rejected, anew.rejected);
    EXPECT_EQ(remembered.vetoed, anew.vetoed);
    ASSERT_EQ(remembered.points.size(), anew.points.size());
    for (std::size_t i = 0; i < anew.points.size(); ++i) {
      EXPECT_EQ(remembered.points[i].values, anew.points[i].values);
    }
  }
  EXPECT_EQ(judged, 0u);  // the last problem was the first, too
}

// Rules of up to three parameters, some of them the problem's, that break at random.
TEST(SpaceTest, FindsWhatKeepsAllRulesInOrderWhicheverParametersTheyRead) {
  constexpr std::size_t kParams = 7;
  std::mt19937 random(1);
  for (int round = 0; round < 50; ++round) {
    std::vector<ParamSpec> params;
    for (std::size_t i = 0; i < kParams; ++i) {
      params.push_back({std::string(1, static_cast<char>('A' + i)), {1, 2, 3}, ""});
    }
    std::vector<FamilyRule> rules;
    for (int i = 0; i < 6; ++i) {
      std::set<std::size_t> reads;
      for (int read = 0; read < 3; ++read) reads.insert(random() % kParams);
      const auto salt = static_cast<int>(random() % 1000);
      rules.push_back({std::to_string(i), {reads.begin(), reads.end()}, [reads, salt](Values v) {
                         int sum = salt;
                         for (const std::size_t read : reads) sum = 31 * sum + v[read];
                         return sum % 5 == 0;
                       }});
    }
    const std::vector<FamilyRule> of_problem = {rules.back()};
    rules.pop_back();
    const KernelFamily family = make_test_family(params, rules);
    std::vector<std::vector<int>> expected;
    for (int rank = 0; rank < 3 * 3 * 3 * 3 * 3 * 3 * 3; ++rank) {
      std::vector<int> values(kParams);
      for (int i = kParams, rest = rank; i-- > 0; rest /= 3) values[std::size_t(i)] = 1 + rest % 3;
      if (!family.reject(values) && !of_problem[0].broken(values)) expected.push_back(values);
    }
    for (const std::size_t threads : {std::size_t{1}, std::size_t{3}}) {
      SpaceMemory memory;
      const Space space = enumerate(
          {&family}, {}, {}, {}, [&](const KernelFamily&) { return of_problem; }, memory, threads);
      std::vector<std::vector<int>> points;
      for (const KnownConfig& point : space.points) points.push_back(point.values);
      EXPECT_EQ(points, expected) << round;
      EXPECT_EQ(space.enumerated, space.valid + rejected_sum(space)) << round;
    }
  }
}

// Nothing is stored: the families have millions of points.
// The real families' points; returns how many are valid.
std::uint64_t account_for_every_raw_point(const std::vector<FixedParam>& fixed) {
  std::uint64_t valid = 0;
  const Space space = enumerate(families_of(Signature()), fixed,
                                [&](const KnownConfig& point) -> std::optional<std::string_view> {
                                  ++valid;
                                  if (const auto reason = point.family->reject(point.values)) {
                                    ADD_FAILURE() << to_string(point.config()) << ": " << *reason;
                                  }
                                  return "seen";
                                });
  EXPECT_EQ(space.enumerated, rejected_sum(space));
  EXPECT_EQ(space.rejected.at("seen"), valid);
  return valid;
}

TEST(SpaceTest, RealFamiliesAccountForEveryRawPoint) {
  const std::vector<FixedParam> of_three_stages = {{"TA", 0},      {"TB", 0},     {"VEC", 4},
                                                   {"CLUSTER", 0}, {"STAGES", 3}, {"RASTER", 8}};
  EXPECT_GT(account_for_every_raw_point(of_three_stages), 50'000u);
}

TEST(SpaceTest, RealFamiliesAccountForEveryRawPointOfOneLayout) {
  EXPECT_GT(account_for_every_raw_point({{"TA", 0}, {"TB", 0}, {"VEC", 4}, {"CLUSTER", 0}}),
            100'000u);
}

TEST(SettledParams, AreTheLayoutAndTheWidthOfAccesses) {
  Problem problem = packed_problem(1022, 1022, 1022, Layout::nt);
  problem = in_class(problem, 2);
  std::map<std::string, int> of_warp_tiled, of_skinny;
  for (const FixedParam& one : settled_params(problem)) {
    if (one.only_of == nullptr || one.only_of->name == "warp_tiled") {
      of_warp_tiled[one.name] = one.value;
    }
    if (one.only_of == nullptr || one.only_of->name == "skinny") of_skinny[one.name] = one.value;
  }
  EXPECT_EQ(of_warp_tiled, (std::map<std::string, int>{{"LINES", 0},
                                                       {"POINTERS", 0},
                                                       {"REDUCE", 0},
                                                       {"REPACK", 0},
                                                       {"STEPPED", 0},
                                                       {"TA", 0},
                                                       {"TB", 1},
                                                       {"TYPE_A", 0},
                                                       {"TYPE_B", 0},
                                                       {"VEC", 2}}));
  EXPECT_EQ(
      of_skinny,
      (std::map<std::string, int>{
          {"POINTERS", 0}, {"REPACK", 0}, {"TA", 0}, {"TB", 1}, {"TYPE_A", 0}, {"TYPE_B", 0}}));
  of_skinny.clear();
  for (const FixedParam& one : settled_params(parse_problem("64x64x64:batch=8:pointers"))) {
    if (one.name == "POINTERS") of_skinny[one.only_of->name] = one.value;
  }
  EXPECT_EQ(of_skinny, (std::map<std::string, int>{{"skinny", 1}, {"warp_tiled", 1}}));
}

// Rows of A alone are unaligned: copies of them allow accesses of four elements.
TEST(SettledParams, LeaveCopiesAndTheWidthOfAccessesToTheSearchWhereCopiesAllowWiderOnes) {
  std::set<std::string> settled;
  for (const FixedParam& one : settled_params(packed_problem(1024, 1024, 1001))) {
    if (one.or_value) continue;
    if (one.only_of == nullptr || one.only_of->name == "warp_tiled") settled.insert(one.name);
  }
  EXPECT_EQ(settled, (std::set<std::string>{"POINTERS", "REDUCE", "TA", "TB", "TYPE_A", "TYPE_B"}));
  for (const FixedParam& one : settled_params(packed_problem(1024, 1024, 1001, Layout::nn, 2))) {
    if (one.name == "REPACK") {
      EXPECT_EQ(one.value, 0);
    }
  }
}

// wgmma stores D of any alignment beside copies of A and B.
TEST(SettledParams, LeaveCopiesToTheSearchWhereAFamilyStoresUnalignedD) {
  const auto is_settled = [](const char* problem, const char* family) {
    const std::vector<FixedParam> all = settled_params(parse_problem(problem));
    return std::any_of(all.begin(), all.end(), [&](const FixedParam& one) {
      return one.name == "REPACK" && one.only_of && one.only_of->name == family;
    });
  };
  EXPECT_FALSE(is_settled("101x203x333:type=bf16", "wgmma"));
  EXPECT_TRUE(is_settled("101x203x333:type=bf16", "mma"));
  EXPECT_TRUE(is_settled("101x203x336:type=bf16:layout=nt", "wgmma"));  // D's rows alone
}

TEST(SettledParams, OfferWidthsOfOperandsWhereTheirAlignmentsDiffer) {
  const auto offered = [](const std::string& problem) {
    for (const FixedParam& one : settled_params(parse_problem(problem))) {
      if (one.name == "VECS") return std::pair(one.value, one.or_value.value());
    }
    return std::pair(0, 0);
  };
  EXPECT_EQ(offered("512x50257x768"), std::pair(0, 411));
  EXPECT_EQ(offered("333x777x2222"), std::pair(0, 211));
  EXPECT_EQ(offered("512x50257x768:layout=nt"), std::pair(0, 441));
  EXPECT_EQ(offered("512x50256x767:layout=nt"), std::pair(0, 114));
  EXPECT_EQ(offered("512x50257x766:layout=tt"), std::pair(0, 421));
  EXPECT_EQ(offered("512x50256x768"), std::pair(0, 0));
  EXPECT_EQ(offered("512x50257x767"), std::pair(0, 0));
}

// Whether the problem leaves the search no choice of the parameter.
bool settles(const std::string& problem, const std::string& param) {
  const std::vector<FixedParam> settled = settled_params(parse_problem(problem));
  return std::any_of(settled.begin(), settled.end(),
                     [&](const FixedParam& one) { return one.name == param; });
}

TEST(SettledParams, OfferOneOffsetOfStagesWhereAlignmentsDiffer) {
  const auto is_settled = [](const char* problem) { return settles(problem, "STEPPED"); };
  EXPECT_FALSE(is_settled("512x50257x768"));
  EXPECT_TRUE(is_settled("512x50257x767"));
  EXPECT_TRUE(is_settled("512x50256x768"));
}

TEST(SettledParams, OfferAReductionInALaunchAfterWhereKIsLarge) {
  const auto is_settled = [](const char* problem) { return settles(problem, "REDUCE"); };
  EXPECT_FALSE(is_settled("256x256x65536"));
  EXPECT_TRUE(is_settled("333x777x2222")) << "operands are aligned differently";
  EXPECT_FALSE(is_settled("333x777x22222"));
  EXPECT_FALSE(is_settled("4096x132x4096"));
  EXPECT_TRUE(is_settled("1024x1024x1024"));
  EXPECT_TRUE(is_settled("4096x512x1024"));
}

TEST(SpaceTest, AFixedParameterMayHaveASecondValue) {
  const std::vector<FixedParam> fixed = settled_params(parse_problem("512x50257x768"));
  std::set<int> seen;
  const Space space = enumerate({find_family("warp_tiled")}, fixed, nullptr, {200'000, 1});
  const std::size_t vecs = find_family("warp_tiled")->find_param("VECS").value();
  for (const KnownConfig& point : space.points) {
    seen.insert(point.values[vecs]);
    ASSERT_EQ(point.family->reject(point.values), std::nullopt) << to_string(point.config());
  }
  EXPECT_EQ(seen, (std::set<int>{0, 411}));
}

TEST(SettledParams, NameNoFamilyThatLacksTheTypes) {
  const Signature f64 = signature_of(ElementType::f64);
  EXPECT_TRUE(families_of(f64).empty());
  EXPECT_TRUE(settled_params(packed_problem(64, 64, 64, Layout::nt, 1, f64)).empty());
}

TEST(Space, HasThreadsThatStoreDOnlyWhereItsRowsAreUnaligned) {
  const auto settled = [](const char* problem) {
    std::optional<int> value;
    for (const FixedParam& one : settled_params(parse_problem(problem))) {
      if (one.name == "DIRECT") value = one.value;
    }
    return value;
  };
  EXPECT_EQ(settled("64x4096x768:type=bf16:layout=nt"), 0);
  EXPECT_EQ(settled("64x50257x768:type=bf16:layout=nt:align=16/16/2/2"), std::nullopt);
  EXPECT_EQ(settled("64x4100x768:type=bf16:layout=nt:align=16/16/8/8"), std::nullopt);
}

TEST(SettledParams, LeaveSharesOfACtaToTheSearchOnlyWhereAllMShareAnOrderOfSums) {
  const auto is_settled = [](bool in_one_order) {
    const std::vector<FixedParam> all =
        settled_params(parse_problem("64x4096x768:type=bf16:layout=nt"), in_one_order);
    return std::any_of(all.begin(), all.end(),
                       [](const FixedParam& one) { return one.name == "K_SHARES"; });
  };
  EXPECT_TRUE(is_settled(false));
  EXPECT_FALSE(is_settled(true));
}

}  // namespace
}  // namespace gemm_tune
