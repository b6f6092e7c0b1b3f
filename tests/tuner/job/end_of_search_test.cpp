// SPDX-License-Identifier: Apache-2.0
// What a search waits for at its end, by a simulated clock.
#include <algorithm>
#include <chrono>
#include <string>
#include <vector>

#include "core/candidate/winner_rule.h"
#include "tests/tuner/fakes/fake_runs.h"
#include "tests/tuner/fakes/fake_tuning.h"
#include "tests/tuner/fakes/simulated_pools.h"
#include "tuner/job/finals.h"

namespace gemm_tune {
namespace {

using namespace std::chrono_literals;
using fake::SimulatedPools;

class EndOfSearchTest : public FakeRunsTest {
 protected:
  ProblemReport tuned(const TuneRequest& request, SimulatedPools& pools) const {
    Database database(file("a.db"), Database::Mode::create_or_open);
    database.begin_run({"test", "13.0", "", "simulated", 1});
    const std::vector<TaskPools*> lanes = {&pools};
    return tune(
               request, database, lanes, [](const Progress&) {}, nullptr)
        .problems.at(0);
  }
};

// The times are those of other cards before, so that the search expects nothing of slow configs.
TEST_F(EndOfSearchTest, WhatIsStillCompiledIsAbandonedWhereItPromisesTooLittle) {
  TuneRequest request = fake::request_of({}, file("log"));
  request.families = {find_family("tiled_2d")};
  request.budget = 1000;
  const std::string name = request.device.name;
  ProblemReport all;
  for (const char* const card : {"a", "b", "c", "d", "e", "f", "g", "h"}) {
    request.device.name = card;
    SimulatedPools all_pools(16);
    all = tuned(request, all_pools);
    EXPECT_EQ(all_pools.abandoned(), 0u) << "a budget is used up";
  }

  // The predicated are specialisations, for which finals wait.
  static constexpr SimulatedPools::Time kAges = 1h;
  const auto compile_time = [](const std::string& config) {
    const bool is_slow = fake::time_us_of(config) > 190 && config.ends_with("PRED=0");
    return is_slow ? kAges : SimulatedPools::kCompilation;
  };
  SimulatedPools pools(16, compile_time);
  request.budget.reset();
  request.device.name = name;
  const ProblemReport similar = tuned(request, pools);
  EXPECT_TRUE(similar.settled);
  EXPECT_EQ(similar.cut_short, CutShort::no);
  EXPECT_EQ(similar.winner.value().config.values, all.winner.value().config.values);
  EXPECT_GT(pools.abandoned(), 0u);
  EXPECT_LT(pools.now(), kAges);
  EXPECT_EQ(similar.funnel.unfinished, 0u);
  EXPECT_EQ(similar.funnel.tried, similar.funnel.survived) << "what was abandoned counts as a try";
}

// Times without a pattern: the surrogate errs and promises to the end. A tenth of the candidates is
// compiled for an hour.
TEST_F(EndOfSearchTest, NearAKnownSizeTriesWithoutAGainEndTheSearch) {
  TuneRequest request = fake::request_of({}, file("log"));
  request.families = {find_family("tiled_2d")};
  request.budget = 40;
  SimulatedPools known_pools(16);
  tuned(request, known_pools);

  static constexpr SimulatedPools::Time kAges = 1h;
  const auto compile_time = [](const std::string& config) {
    const double us = fake::time_us_of(config);
    const bool is_slow = us > 150 && us < 160 && config.ends_with("PRED=0");
    return is_slow ? kAges : SimulatedPools::kCompilation;
  };
  request.budget.reset();
  request.problems = {packed_problem(1024, 1024, 1152)};
  SimulatedPools near_pools(16, compile_time), far_pools(16, compile_time);
  const ProblemReport near = tuned(request, near_pools);
  EXPECT_TRUE(near.settled);
  EXPECT_GT(near_pools.abandoned(), 0u);
  EXPECT_LT(near_pools.now(), kAges);
  EXPECT_GE(near.funnel.tried, 29u);
  EXPECT_LE(near.funnel.tried, 100u);

  request.problems = {packed_problem(1024, 1024, 4096)};
  const ProblemReport far = tuned(request, far_pools);
  EXPECT_GE(far_pools.now(), kAges);
  EXPECT_GT(far.funnel.tried, 100u);
}

// Of two configs of one family: the parameters that differ.
std::size_t differences(const KnownConfig& a, const KnownConfig& b) {
  std::size_t count = 0;
  for (std::size_t i = 0; i < a.values.size(); ++i) count += a.values[i] != b.values[i] ? 1 : 0;
  return count;
}

// A first run tried 45 configs, none of them a variant of the best; these take an hour to compile.
TEST_F(EndOfSearchTest, NearAKnownSizeLikelyVariantsOfTheBestAreAskedForAndAwaited) {
  TuneRequest request = fake::request_of({}, file("log"));
  request.families = {find_family("tiled_2d")};
  const ConfigList all = candidates_for(request, fake::kProblem).points;
  const auto us = [&](std::size_t i) { return fake::time_us_of(to_string(all[i].config())); };
  // The predicated are specialisations, for which finals wait.
  const auto is_predicated = [](const std::string& config) { return config.ends_with("PRED=1"); };
  std::vector<std::size_t> healthy;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const std::string config = to_string(all[i].config());
    if (fake::fault_of(config) == fake::Fault::none && !is_predicated(config)) healthy.push_back(i);
  }
  const KnownConfig best = all[*std::min_element(
      healthy.begin(), healthy.end(), [&](std::size_t a, std::size_t b) { return us(a) < us(b); })];
  std::vector<KnownConfig> others;
  for (std::size_t i = 0; others.size() < 44 && i < healthy.size(); ++i) {
    const KnownConfig config = all[healthy[i]];
    if (differences(config, best) > 1) others.push_back(config);
  }
  TuneRequest listed = fake::request_of(others, file("log"));
  listed.problems = {packed_problem(1024, 1024, 1152)};
  SimulatedPools known_pools(16), first_pools(16), last_pools(16);
  tuned(listed, known_pools);
  listed.problems = {fake::kProblem};
  listed.only = {best};
  listed.only.insert(listed.only.end(), others.begin(), others.end());
  EXPECT_EQ(tuned(listed, first_pools).funnel.tried, 45u);

  static constexpr SimulatedPools::Time kAges = 1h;
  std::size_t variants = 0;
  SimulatedPools pools(16, [&](const std::string& config) {
    const bool is_variant =
        !is_predicated(config) && differences(check_config(parse_config(config)), best) == 1;
    variants += is_variant ? 1 : 0;
    return is_variant ? kAges : SimulatedPools::kCompilation;
  });
  const ProblemReport again = tuned(request, pools);
  EXPECT_TRUE(again.settled);
  EXPECT_GT(variants, 0u);
  EXPECT_GE(again.funnel.tried, 45 + variants) << "abandoned";
  EXPECT_GE(pools.now(), kAges);
  EXPECT_EQ(tuned(request, last_pools).funnel.tried, again.funnel.tried);
}

// The first by hot times and the first by cold ones may both be handed out, and the latter is the
// last of eight finalists, whose specialisations nobody compiled ahead.
TEST_F(EndOfSearchTest, SpecialisationsOfAllKernelsThatMayBeHandedOutAreVerifiedSideBySide) {
  std::vector<KnownConfig> configs = fake::some_configs(120, false);
  std::erase_if(configs,
                [](const KnownConfig& config) { return specialisations_of(config).size() < 3; });
  ASSERT_GE(configs.size(), 16u);
  SimulatedPools pools(16);
  const ProblemReport report = tuned(fake::request_of(configs, file("log")), pools);
  EXPECT_TRUE(report.specialisations_verified);
  EXPECT_GT(pools.now() - pools.finals_ended_at(), SimulatedPools::kCompilation / 2)
      << "all was compiled before";
  EXPECT_LT(pools.now() - pools.finals_ended_at(),
            2 * SimulatedPools::kCompilation + 10 * SimulatedPools::kMeasurement);
}

// So many candidates, each a tenth of a percent slower than the one before.
std::vector<RankedCandidate> near_each_other(std::size_t count) {
  const std::vector<KnownConfig> configs = fake::some_configs(2 * count, false);
  std::vector<RankedCandidate> candidates;
  for (std::size_t i = 0; i < count; ++i) {
    const double us = 100 + 0.1 * static_cast<double>(i);
    Outcome outcome;
    outcome.timing = Timing{us, {us}, 1};
    candidates.push_back({configs.at(i), outcome});
  }
  return candidates;
}

TEST(FinalistsTest, AreThoseWithinReachAtLeastEightAndAtMostTwentyFour) {
  const auto among = [](std::size_t count, double reach) {
    std::vector<RankedCandidate> candidates = near_each_other(count);
    return finalists_among(candidates, Objective::hot, reach);
  };
  EXPECT_EQ(among(40, 1.0155), 16u);
  EXPECT_EQ(among(40, 1.001), 8u);
  EXPECT_EQ(among(40, 1.03), 24u);
  EXPECT_EQ(among(5, 1.03), 5u);
}

TEST(FinalistsTest, ReachLessFarWhereL2DoesNotHoldTheMatrices) {
  DeviceSpec device;
  device.l2_bytes = 50'000'000;  // three matrices of 2041 x 2041 floats
  EXPECT_EQ(finals_reach(packed_problem(2041, 2041, 2041), device), kReach);
  EXPECT_EQ(finals_reach(packed_problem(2042, 2042, 2042), device), kReachBeyondL2);
  EXPECT_EQ(finals_reach(packed_problem(8, 4096, 4096), device), kReach) << "the memory bounds it";
  device.l2_bytes = 0;
  EXPECT_EQ(finals_reach(packed_problem(2042, 2042, 2042), device), kReach) << "unknown";
}

}  // namespace
}  // namespace gemm_tune
