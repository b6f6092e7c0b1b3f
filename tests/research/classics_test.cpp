// SPDX-License-Identifier: Apache-2.0
#include "research/classics.h"

#include "tests/search/every_strategy.h"

namespace gemm_tune {
namespace {

std::vector<NamedStrategy> the_classics() {
  std::vector<NamedStrategy> all;
  for (const char* const name : {"annealing", "genetic", "diff_evo"}) {
    all.push_back({name, [name](const SearchSpace& space, std::vector<double> prior_us,
                                std::size_t budget, std::uint64_t seed) {
                     return make_studied(name, space, std::move(prior_us), budget, seed);
                   }});
  }
  return all;
}

INSTANTIATE_TEST_SUITE_P(Classics, EveryStrategyTest, testing::ValuesIn(the_classics()),
                         [](const auto& strategy) { return strategy.param.name; });

TEST(StudiedTest, NamesTheProductsStrategiesTooAndNoOther) {
  const Land land = make_land();
  for (const char* const name : kStudiedStrategies) {
    EXPECT_NE(make_studied(name, land.space, {}, 10, 1), nullptr) << name;
  }
  EXPECT_THROW(make_studied("oracle", land.space, {}, 10, 1), std::invalid_argument);
}

}  // namespace
}  // namespace gemm_tune
