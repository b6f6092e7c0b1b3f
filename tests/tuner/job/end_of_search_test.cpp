// SPDX-License-Identifier: Apache-2.0
// What a search waits for at its end, by a simulated clock.
#include <algorithm>
#include <chrono>
#include <string>
#include <vector>

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

}  // namespace
}  // namespace gemm_tune
