// SPDX-License-Identifier: Apache-2.0
// How a run uses the rows of earlier runs. Fake workers, so no GPU is needed.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <numeric>
#include <set>
#include <string>
#include <vector>

#include "search/model/expected_error.h"
#include "search/model/static_model.h"
#include "tests/temp_folder.h"
#include "tests/tuner/fakes/fake_tuning.h"
#include "tuner/plan/plan.h"

namespace gemm_tune {
namespace {

namespace fs = std::filesystem;

class RecallTest : public testing::Test {
 protected:
  std::string file(const std::string& name) const { return (folder_.path() / name).string(); }

 private:
  const TempFolder folder_;
};

TEST_F(RecallTest, ARerunExpectsOfMoreTriesWhatTheFirstRunDid) {
  TuneRequest request = fake::request_of({}, file("log"));
  request.measure = false;  // fakes that die on the GPU would be tried again
  request.most_points = 3000;
  request.budget = 48;  // few, so that more is to be gained, in whatever order their results come
  const ProblemReport first = fake::tune_into(file("a.db"), request).problems.at(0);
  ASSERT_TRUE(first.expected_gain.has_value());
  EXPECT_EQ(first.expected_gain->tries, 48u);
  const ProblemReport again = fake::tune_into(file("a.db"), request).problems.at(0);
  EXPECT_EQ(again.funnel.recalled, 48u);
  ASSERT_TRUE(again.expected_gain.has_value());
  EXPECT_EQ(again.expected_gain->tries, 48u);
  EXPECT_NEAR(again.expected_gain->gain, first.expected_gain->gain, 1e-6);
}

TEST_F(RecallTest, ACompilerThatHangsOrDiesIsNoFailureOnTheGpu) {
  std::vector<KnownConfig> configs;
  std::uint64_t broken = 0;
  for (const KnownConfig& config : fake::some_configs(2000, true)) {
    const fake::Fault fault = fake::fault_of(to_string(config.config()));
    const bool ends = fault == fake::Fault::compiler_crash || fault == fake::Fault::endless_compile;
    if (!ends && fault != fake::Fault::crash) continue;
    if (configs.size() == 12) break;
    configs.push_back(config);
    broken += ends ? 1 : 0;
  }
  ASSERT_GT(broken, 0u);
  ASSERT_LT(broken, configs.size());
  for (int run = 0; run < 2; ++run) {  // tried, then recalled
    const ProblemReport report =
        fake::tune_with_fakes(configs, file("a.db"), file("a.log")).problems.at(0);
    EXPECT_EQ(report.funnel.recalled, run == 0 ? 0u : configs.size());
    EXPECT_EQ(total(report.funnel.compile_failed), broken);
    EXPECT_EQ(total(report.funnel.failed_on_gpu), configs.size() - broken);
  }
}

void store_timing(Database& database, const TuneRequest& request, const DeviceSpec& device,
                  const KnownConfig& config, double us) {
  Outcome outcome;
  outcome.disposition = Disposition::ok;
  outcome.resources.emplace();
  outcome.timing.emplace();
  outcome.timing->median_us = us;
  outcome.timing->samples_us = {us};
  outcome.timing->launches_per_sample = 1;
  database.store(device_key(device), fake::kProblem, to_string(config.config()),
                 environment_of(request).revisions.at(config.family->name), outcome,
                 Source::measured);
}

TEST_F(RecallTest, TheBestOfAnotherGpuOfTheArchitectureAreTriedFirst) {
  TuneRequest request = fake::request_of({}, file("log"));
  request.budget = 20;
  const std::vector<KnownConfig> configs = fake::some_configs(40, false);
  ASSERT_GT(configs.size(), 16u);
  DeviceSpec other = request.device;
  other.name = "another card of the architecture";
  Database database(file("a.db"), Database::Mode::create_or_open);
  database.begin_run({"test", "13.0", "", "by hand", 1});
  const auto expected_us = [&](const KnownConfig& config) {
    return predict(config.traits, fake::kProblem, other).time_us;
  };
  const auto store = [&](const DeviceSpec& device, const KnownConfig& config, double us) {
    store_timing(database, request, device, config, us);
  };
  // The static model's order, reversed.
  std::vector<KnownConfig> by_model = configs;
  std::stable_sort(by_model.begin(), by_model.end(),
                   [&](const auto& a, const auto& b) { return expected_us(a) < expected_us(b); });
  for (std::size_t i = 0; i < by_model.size(); ++i) {
    store(other, by_model[i], 100 - static_cast<double>(i));
  }
  // One of them is known here already.
  store(request.device, by_model.back(), 70);
  const Environment environment = environment_of(request);
  SpaceMemory memory;
  const auto plan = [&] {
    const ProblemResults results(database, request, environment, fake::kProblem);
    return plan_problem(request, fake::kProblem, results, memory,
                        timed_elsewhere(request, fake::kProblem, results, {}));
  };
  const Plan planned = plan();
  EXPECT_EQ(planned.recalled.size(), 1u);
  // Half of the budget that is left; of the nine fastest elsewhere one is known here.
  ASSERT_EQ(planned.leaders.size(), 8u);
  for (std::size_t i = 0; i < 8; ++i) {
    EXPECT_EQ(to_string(planned.points[planned.leaders[i]].config()),
              to_string(by_model[by_model.size() - 2 - i].config()))
        << i;
  }
  request.budget = 5;  // at most half of what is left
  const Plan short_one = plan();
  ASSERT_EQ(short_one.leaders.size(), 1u);
  EXPECT_EQ(to_string(short_one.points[short_one.leaders[0]].config()),
            to_string(by_model[by_model.size() - 2].config()));
}

TEST_F(RecallTest, TheModelsOwnTilesAreTriedBehindWhatWasTimedElsewhere) {
  TuneRequest request = fake::request_of({}, file("log"));
  request.budget = 100;
  const Environment environment = environment_of(request);
  Database database(file("a.db"), Database::Mode::create_or_open);
  database.begin_run({"test", "13.0", "", "by hand", 1});
  SpaceMemory memory;
  const auto plan = [&] {
    const ProblemResults results(database, request, environment, fake::kProblem);
    return plan_problem(request, fake::kProblem, results, memory,
                        timed_elsewhere(request, fake::kProblem, results, {}));
  };
  const auto store = [&](const DeviceSpec& device, const KnownConfig& config) {
    store_timing(database, request, device, config, 100);
  };
  const Plan nothing_known = plan();
  EXPECT_TRUE(nothing_known.leaders.empty());
  // The model's fastest of each tile.
  std::vector<std::size_t> order(nothing_known.points.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return nothing_known.prior_us[a] < nothing_known.prior_us[b];
  });
  std::vector<std::size_t> by_model;
  std::set<std::array<int, 3>> tiles;
  for (const std::size_t point : order) {
    const Traits traits = KnownConfig(nothing_known.points[point]).traits;
    if (tiles.insert({traits.tile_m, traits.tile_n, traits.tile_k}).second) {
      by_model.push_back(point);
    }
  }
  ASSERT_GT(by_model.size(), 4u);
  DeviceSpec other = request.device;
  other.name = "another card of the architecture";
  // Eight slow ones make evidence, of which the model's first is one.
  store(other, nothing_known.points[by_model[0]]);
  for (std::size_t i = 1; i <= 7; ++i) {
    store(other, nothing_known.points[order[order.size() - i]]);
  }
  const Plan guided = plan();
  ASSERT_EQ(guided.leaders.size(), 8u + 3);
  EXPECT_EQ(std::vector(guided.leaders.begin() + 8, guided.leaders.end()),
            std::vector(by_model.begin() + 1, by_model.begin() + 4));
  // What is known here is not tried again, and others do not take its place.
  store(request.device, nothing_known.points[by_model[1]]);
  const Plan again = plan();
  EXPECT_EQ(again.leaders.size(), 8u + 2);
  EXPECT_EQ(again.leaders.back(), by_model[3]);
  // Nor those whose errors are expected above a limit.
  const auto error_of = [&](std::size_t point) {
    return expected_error(KnownConfig(again.points[point]).traits, fake::kProblem, request.device);
  };
  std::vector<double> errors;
  for (const std::size_t point : again.leaders) errors.push_back(error_of(point));
  const auto [least, most] = std::minmax_element(errors.begin(), errors.end());
  const auto leaders_within = [&](double error) {
    Plan limited = plan();
    limit_errors(limited, error, request.device);
    return limited.leaders.size();
  };
  EXPECT_EQ(leaders_within(*most), 10u);
  EXPECT_EQ(leaders_within(.99 * *least), 0u);
  // Half of what the budget leaves: the eight, the model's first two, both known, and its third.
  request.budget = 23;
  const Plan short_one = plan();
  ASSERT_EQ(short_one.leaders.size(), 9u);
  EXPECT_EQ(short_one.leaders.back(), by_model[2]);
}

TEST_F(RecallTest, AProblemIsNearAKnownOneWhereTwelveOfItsConfigsLead) {
  const TuneRequest request = fake::request_of({}, file("log"));
  const std::vector<KnownConfig> configs = fake::some_configs(40, false);
  ASSERT_GE(configs.size(), 12u);
  Database database(file("a.db"), Database::Mode::create_or_open);
  const Environment environment = environment_of(request);
  const ProblemResults results(database, request, environment, fake::kProblem);
  const auto is_near_known = [&](const Problem& there, std::size_t count, const std::string& name) {
    DeviceKey device = device_key(request.device);
    device.name = name;
    std::vector<TimedConfig> rows;  // of a layer
    for (std::size_t i = 0; i < count; ++i) {
      rows.push_back({device, there, to_string(configs[i].config()), "", 100});
    }
    return timed_elsewhere(request, fake::kProblem, results, rows).is_near_known;
  };
  const Problem near = packed_problem(1024, 1024, 2048);
  const std::string name = request.device.name;
  EXPECT_TRUE(is_near_known(near, 12, name));
  EXPECT_TRUE(is_near_known(fake::kProblem, 12, name));
  EXPECT_FALSE(is_near_known(near, 11, name));
  EXPECT_FALSE(is_near_known(near, 12, "another card"));
  EXPECT_FALSE(is_near_known(packed_problem(1024, 1024, 2304), 12, name));
}

TEST_F(RecallTest, APlanKnowsWhatIsStoredAndStartsNoWorker) {
  TuneRequest request = fake::request_of({}, file("log"));
  request.measure = false;
  request.most_points = 1000;
  request.budget = 40;
  fake::tune_into(file("a.db"), request);
  fs::remove(file("log"));
  request.budget = 100;
  Database database(file("a.db"), Database::Mode::read_only);
  SpaceMemory memory;
  const PlannedSearch planned = plan_search(request, fake::kProblem, database, memory);
  // Of the 40 that were tried, a failure that the environment caused leaves no row.
  const std::size_t stored = database.records(device_key(request.device), fake::kProblem).size();
  EXPECT_GT(stored, 20u);
  EXPECT_LE(stored, 40u);
  EXPECT_EQ(planned.recalled, stored);
  EXPECT_EQ(planned.tries(), 100 - stored);
  EXPECT_EQ(planned.untried.size(), planned.funnel.searched - stored);
  std::set<std::string> untried;
  for (const std::size_t point : planned.untried) {
    untried.insert(to_string(planned.points[point].config()));
  }
  for (const Record& row : database.records(device_key(request.device), fake::kProblem)) {
    EXPECT_FALSE(untried.contains(row.config));
  }
  EXPECT_FALSE(fs::exists(file("log")));
}

}  // namespace
}  // namespace gemm_tune
