// SPDX-License-Identifier: Apache-2.0
#include "tuner/plan/plan.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "search/model/static_model.h"
#include "tests/temp_folder.h"
#include "tuner/plan/candidates.h"

namespace gemm_tune {
namespace {

TEST(PlanTest, IsTheSameInAnyNumberOfThreads) {
  const TempFolder folder;
  Database database((folder.path() / "db").string(), Database::Mode::create_or_open);
  TuneRequest request;
  request.device = find_device_spec("sm_90").value();
  request.measure = true;
  const Problem problem = parse_problem("1280x1280x1280:type=bf16");
  const Problem other = parse_problem("1024x1024x1024:type=bf16");
  const ConfigList there = candidates_for(request, other).points;
  Elsewhere elsewhere;
  for (std::size_t i = 0; i < there.size(); i += 50) {
    const KnownConfig config = there[i];
    const double us = predict(config.traits, other, request.device).time_us;
    elsewhere.timed.push_back({device_key(request.device), other, to_string(config.config()), "",
                               us * (1 + static_cast<double>(i % 7) / 10)});
  }
  const auto planned = [&](std::size_t jobs) {
    request.jobs = jobs;
    SpaceMemory memory;
    const Environment environment = environment_of(request);
    const ProblemResults results(database, request, environment, problem);
    return plan_problem(request, problem, results, memory, elsewhere);
  };
  const Plan one = planned(1), several = planned(16);
  EXPECT_EQ(planning_threads(request), 4u);
  ASSERT_EQ(one.prior_sources.value().size(), 1u);
  EXPECT_GT(one.points.size(), 10'000u);
  ASSERT_EQ(several.points.size(), one.points.size());
  for (std::size_t i = 0; i < one.points.size(); ++i) {
    EXPECT_TRUE(std::ranges::equal(several.points.values(i), one.points.values(i))) << i;
  }
  EXPECT_EQ(several.prior_us, one.prior_us);
  EXPECT_EQ(several.funnel.rejected_by_rule, one.funnel.rejected_by_rule);
}

}  // namespace
}  // namespace gemm_tune
