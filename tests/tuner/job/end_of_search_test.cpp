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

// The times are those of the problem before, so that the search expects nothing of slow configs.
TEST_F(EndOfSearchTest, WhatIsStillCompiledIsAbandonedWhereItPromisesTooLittle) {
  TuneRequest request = fake::request_of({}, file("log"));
  request.families = {find_family("tiled_2d")};
  request.budget = 1000;
  SimulatedPools all_pools(16);
  const ProblemReport all = tuned(request, all_pools);
  EXPECT_EQ(all_pools.abandoned(), 0u) << "a budget is used up";

  // The predicated are twins, for which finals wait.
  static constexpr SimulatedPools::Time kAges = 1h;
  const auto compile_time = [](const std::string& config) {
    const bool is_slow = fake::time_us_of(config) > 130 && config.ends_with("PRED=0");
    return is_slow ? kAges : SimulatedPools::kCompilation;
  };
  SimulatedPools pools(16, compile_time);
  request.budget.reset();
  request.problems = {packed_problem(1024, 1024, 1152)};
  const ProblemReport near = tuned(request, pools);
  EXPECT_TRUE(near.settled);
  EXPECT_EQ(near.cut_short, CutShort::no);
  EXPECT_EQ(near.winner.value().config.values, all.winner.value().config.values);
  EXPECT_GT(pools.abandoned(), 0u);
  EXPECT_LT(pools.now(), kAges);
  EXPECT_EQ(near.funnel.unfinished, 0u);
  EXPECT_EQ(near.funnel.tried, near.funnel.survived) << "what was abandoned counts as a try";
}

// The first by hot times and the first by cold ones may both be handed out, and the latter is the
// last of eight finalists, whose twins nobody compiled ahead.
TEST_F(EndOfSearchTest, TwinsOfAllKernelsThatMayBeHandedOutAreVerifiedSideBySide) {
  std::vector<KnownConfig> configs = fake::some_configs(120, false);
  std::erase_if(configs, [](const KnownConfig& config) { return twins_of(config).size() < 3; });
  ASSERT_GE(configs.size(), 16u);
  SimulatedPools pools(16);
  const ProblemReport report = tuned(fake::request_of(configs, file("log")), pools);
  EXPECT_TRUE(report.twins_verified);
  EXPECT_GT(pools.now() - pools.finals_ended_at(), SimulatedPools::kCompilation / 2)
      << "all was compiled before";
  EXPECT_LT(pools.now() - pools.finals_ended_at(),
            2 * SimulatedPools::kCompilation + 10 * SimulatedPools::kMeasurement);
}

}  // namespace
}  // namespace gemm_tune
