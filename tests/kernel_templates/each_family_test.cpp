// SPDX-License-Identifier: Apache-2.0
// What holds for every family, whichever list of them the program is linked with.

#include <algorithm>
#include <random>
#include <set>

#include "tests/kernel_templates/spaces.h"
#include "tests/matchers.h"

namespace gemm_tune {
namespace {

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
    const Specialisation wanted = {Layout::tt, 1, true, config.traits.signature};
    const std::vector<int> values = family().specialised(config.values, wanted);
    if (family().reject(values)) continue;  // a rule on the layout
    const Specialisation reached = known_config(family(), values).specialisation();
    EXPECT_EQ(reached.layout, roles.contains(Role::transposed_a) ? Layout::tt : Layout::nn);
    EXPECT_EQ(reached.vec, roles.contains(Role::vector_width) ? 1 : config.traits.vec);
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

// The filter prunes by these parameters (rules_of_problem() in tuner/plan/filter.h).
TEST_P(EachFamily, AParameterThatIsATraitHasItsValueInEveryConfig) {
  for (const std::vector<int>& point : some_valid_points(family())) {
    const Traits traits = family().traits(point);
    for (std::size_t i = 0; i < point.size(); ++i) {
      const ParamSpec& param = family().params[i];
      if (param.trait != nullptr) {
        EXPECT_EQ(traits.*param.trait, point[i]) << param.name;
      }
    }
  }
}

TEST_P(EachFamily, TraitsAreSane) {
  for (const std::vector<int>& point : some_valid_points(family())) {
    const Traits t = family().traits(point);
    const std::string text = to_string(family().config(point));
    EXPECT_EQ(t.threads % 32, 0) << text;
    if (t.warpgroup_columns > 0) {  // threads that load have no sums, and barriers are the stages'
      EXPECT_EQ(t.tile_m * t.tile_n % (64 * t.warpgroup_columns), 0) << text;
      EXPECT_GT(t.smem_bytes, 0) << text;
      continue;
    }
    EXPECT_EQ(t.threads * t.thread_m * t.thread_n, t.tile_m * t.tile_n * t.threads_along_k) << text;
    EXPECT_GE(t.registers_estimate, t.thread_m * t.thread_n) << text;
    EXPECT_GE(t.feed_wavefronts_per_k, t.feed_instructions_per_k) << text;
    EXPECT_GE(t.fill_wavefronts_per_tile_k, t.fill_instructions_per_tile_k) << text;
    EXPECT_EQ(t.reads_global_in_inner_loop, t.smem_bytes == 0) << text;
    EXPECT_EQ(t.barriers_per_tile_k > 0, t.smem_bytes > 0) << text;
  }
}

INSTANTIATE_TEST_SUITE_P(Families, EachFamily, testing::ValuesIn(family_names()),
                         [](const auto& family) { return family.param; });

}  // namespace
}  // namespace gemm_tune
