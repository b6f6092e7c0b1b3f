// SPDX-License-Identifier: Apache-2.0
// What a run tries and in which order, what it takes from earlier runs, and what its finals hold.
// Fake workers, so no GPU is needed.
#include <algorithm>
#include <chrono>
#include <filesystem>
#include <limits>
#include <set>
#include <string>
#include <vector>

#include "runtime/compile.h"
#include "runtime/kernel_store.h"
#include "search/model/static_model.h"
#include "tests/matchers.h"
#include "tests/tuner/fakes/fake_runs.h"
#include "tests/tuner/fakes/fake_tuning.h"
#include "tuner/plan/budget.h"
#include "tuner/report/report.h"

namespace gemm_tune {
namespace {

using namespace std::chrono_literals;
namespace fs = std::filesystem;

class SearchTest : public FakeRunsTest {
 protected:
  // The first configs that a GPU was asked to measure.
  static std::vector<std::string> tried(const std::string& log, std::size_t count) {
    std::vector<std::string> found;
    for (const std::string& line : lines(log)) {
      if (found.size() < count && line.starts_with("measure ")) found.push_back(line.substr(8));
    }
    return found;
  }
};

TEST_F(SearchTest, OnRequestWhatFailedInEarlierRunsIsTriedAgainFirst) {
  auto configs = fake::some_configs(60, true);
  std::erase_if(configs, [](const KnownConfig& config) {
    return fake::fault_of(to_string(config.config())) == fake::Fault::killed;
  });
  fake::tune_with_fakes(configs, file("a.db"), file("a.log"));
  std::set<std::string> failed;
  for (const auto& [config, disposition] : rows(file("a.db"))) {
    if (disposition != "ok" && disposition != "rejected") failed.insert(config);
  }
  ASSERT_GE(failed.size(), 5u);
  TuneRequest request = fake::request_of({}, file("b.log"));
  request.jobs = 1;
  request.budget = configs.size();  // no more than the earlier run tried
  request.retry_failed = true;
  const TuneReport report = fake::tune_into(file("a.db"), request);
  std::set<std::string> compiled;
  for (const std::string& line : lines(file("b.log"))) {
    if (line.starts_with("compile ") && compiled.size() < failed.size()) {
      compiled.insert(line.substr(8));
    }
  }
  EXPECT_EQ(compiled, failed);
  EXPECT_EQ(report.problems.at(0).funnel.recalled, configs.size() - failed.size());
  EXPECT_EQ(report.problems.at(0).funnel.tried, configs.size());
  EXPECT_EQ(rows(file("a.db")).size(), configs.size());
}

TEST_F(SearchTest, TheSameCommandAgainTriesNothingAndFindsTheSame) {
  auto configs = fake::some_configs(40, true);
  std::erase_if(configs, [](const KnownConfig& config) {
    return fake::fault_of(to_string(config.config())) == fake::Fault::killed;
  });
  const TuneReport first = fake::tune_with_fakes(configs, file("a.db"), file("a.log"));
  const auto noted = lines(file("a.log")).size();
  const TuneReport second = fake::tune_with_fakes(configs, file("a.db"), file("a.log"));
  EXPECT_EQ(lines(file("a.log")).size(), noted) << "a worker was started for nothing";
  EXPECT_EQ(second.problems[0].funnel.recalled, configs.size());
  EXPECT_EQ(second.problems[0].winner->config.values, first.problems[0].winner->config.values);
  EXPECT_EQ(second.problems[0].winner->baselines.size(), 1u);
  EXPECT_EQ(second.problems[0].winner->baselines, first.problems[0].winner->baselines);
}

TEST_F(SearchTest, AListGoesInItsOrder) {
  const auto configs = fake::some_configs(60, false);
  TuneRequest request = fake::request_of({configs.rbegin(), configs.rend()}, file("log"));
  request.jobs = 1;
  fake::tune_into(file("a.db"), request);
  std::vector<std::string> expected;
  for (const KnownConfig& config : request.only) expected.push_back(to_string(config.config()));
  EXPECT_EQ(tried(file("log"), expected.size()), expected);
}

TEST_F(SearchTest, AllOfASpaceGoesInListOrder) {
  TuneRequest request = fake::request_of({}, file("log"));
  request.jobs = 1;
  request.most_points = 12;
  request.budget = std::numeric_limits<std::size_t>::max();
  const TuneReport report = fake::tune_into(file("a.db"), request);
  EXPECT_EQ(report.problems[0].funnel.tried, 12u);
  const std::vector<std::string> began = tried(file("log"), 1000);
  std::size_t next = 0;
  for (const KnownConfig& point : candidates_for(request, fake::kProblem).points) {
    const std::string text = to_string(point.config());
    if (fake::fault_of(text) != fake::Fault::none) continue;
    while (next < began.size() && began[next] != text) ++next;
    EXPECT_LT(next, began.size()) << text;
  }
}

// As tests/tuner/fakes/few_families.cpp has it, registers depend on whether PAD is 0 and not on
// INTERLEAVE.
TEST_F(SearchTest, AConfigThatSpillsAsARejectedOneIsNotCompiled) {
  std::vector<KnownConfig> configs;
  for (int pad = 0; pad <= 32; ++pad) {
    for (const char* interleave : {"0", "1"}) {
      configs.push_back(check_config(parse_config(
          "vectorized_2d/BM=128,BN=128,BK=8,TM=8,TN=8,VEC=1,PAD=" + std::to_string(pad) +
          ",INTERLEAVE=" + interleave + ",PRED=0")));
    }
  }
  TuneRequest request = fake::request_of(configs, file("log"), "spills");
  request.jobs = 1;
  request.strategy = "random";
  const auto tried = [&](const std::string& db) {
    const Funnel funnel = fake::tune_into(file(db), request).problems.at(0).funnel;
    EXPECT_EQ(funnel.survived, 0u);
    EXPECT_GE(funnel.rejected_by_resources.at("registers spill to local memory"), 2u);
    return funnel.tried;
  };
  // One of each of the two kinds, and what was asked for before its outcome was told.
  EXPECT_LE(tried("random.db"), configs.size() / 3);
  request.strategy.clear();
  EXPECT_EQ(tried("list.db"), configs.size());
}

TEST_F(SearchTest, WhatEarlierRunsTriedBelongsToTheSampleOfALargeSpace) {
  TuneRequest request = fake::request_of({}, file("log"));
  request.most_points = 30;
  request.budget = 10;
  const TuneReport first = fake::tune_into(file("a.db"), request);
  EXPECT_EQ(first.problems[0].funnel.searched, 30u);
  EXPECT_GT(first.problems[0].funnel.left, 1000u);
  const std::size_t stored = rows(file("a.db")).size();  // a failure of the environment is not
  EXPECT_GT(stored, 7u);
  request.seed = 2;  // another sample
  request.budget = 15;
  const TuneReport second = fake::tune_into(file("a.db"), request);
  EXPECT_EQ(second.problems[0].funnel.recalled, stored);
  EXPECT_EQ(second.problems[0].funnel.tried, 15u);
  EXPECT_GT(second.problems[0].funnel.searched, 30 + stored / 2);
  EXPECT_LE(second.problems[0].funnel.searched, 30 + stored);
}

TEST_F(SearchTest, ASearchBeginsWithTheStaticModelsFavouriteUnlessToldOtherwise) {
  TuneRequest request = fake::request_of({}, file("log"));
  request.budget = 1;
  const auto predicted_us = [&](const KnownConfig& config) {
    return predict(config.traits, fake::kProblem, request.device).time_us;
  };
  double least_us = std::numeric_limits<double>::infinity();
  for (const KnownConfig& point : candidates_for(request, fake::kProblem).points) {
    least_us = std::min(least_us, predicted_us(point));
  }
  const auto only_try = [&](const std::string& db) {
    fake::tune_into(file(db), request);
    const auto stored = rows(file(db));
    EXPECT_EQ(stored.size(), 1u);
    return check_config(parse_config(stored.begin()->first));
  };
  EXPECT_EQ(predicted_us(only_try("model.db")), least_us);
  request.strategy = "random";
  EXPECT_GT(predicted_us(only_try("random.db")), 1.1 * least_us);
}

TEST_F(SearchTest, ASearchIsGuidedByWhatWasTimedElsewhereAndSaysSo) {
  TuneRequest request = fake::request_of({}, file("log"));
  request.most_points = 1000;
  request.budget = 120;
  const ProblemReport first = fake::tune_into(file("a.db"), request).problems.at(0);
  ASSERT_TRUE(first.prior.has_value());
  EXPECT_TRUE(first.prior->empty());
  EXPECT_EQ(first.budget, 120u);

  request.problems = {packed_problem(2048, 1024, 1024)};
  request.budget.reset();
  const ProblemReport second = fake::tune_into(file("a.db"), request).problems.at(0);
  ASSERT_TRUE(second.prior.has_value());
  ASSERT_EQ(second.prior->size(), 1u);
  EXPECT_EQ(second.prior->at(0).problem, fake::kProblem);
  EXPECT_EQ(second.prior->at(0).device, std::nullopt);
  EXPECT_GE(second.prior->at(0).count, 64u);
  EXPECT_LE(second.prior->at(0).count, first.funnel.survived);
  EXPECT_EQ(second.budget, default_budget(/*measured=*/true));

  request.strategy = "random";
  EXPECT_EQ(fake::tune_into(file("a.db"), request).problems.at(0).prior, std::nullopt);
}

TEST_F(SearchTest, ASearchWithoutABudgetEndsItselfAndGoesOnWhereABudgetIsNamed) {
  TuneRequest request = fake::request_of({}, file("log"));
  request.families = {find_family("tiled_2d")};
  request.budget = 1000;
  const ProblemReport all = fake::tune_into(file("a.db"), request).problems.at(0);
  EXPECT_FALSE(all.settled);
  EXPECT_EQ(all.funnel.tried, all.funnel.left);
  EXPECT_GT(all.funnel.left, 100u);

  request.budget.reset();
  request.problems = {packed_problem(1024, 1024, 1152)};  // the same times
  const ProblemReport near = fake::tune_into(file("a.db"), request).problems.at(0);
  EXPECT_TRUE(near.settled);
  EXPECT_EQ(near.cut_short, CutShort::no);
  EXPECT_EQ(near.funnel.unfinished, 0u);
  EXPECT_LT(near.funnel.tried, 50u);
  ASSERT_TRUE(near.winner.has_value());
  EXPECT_EQ(near.winner->config.values, all.winner->config.values);

  request.budget = near.funnel.tried + 5;
  const ProblemReport more = fake::tune_into(file("a.db"), request).problems.at(0);
  EXPECT_FALSE(more.settled);
  EXPECT_EQ(more.funnel.tried, near.funnel.tried + 5);
}

TEST_F(SearchTest, ATargetEndsASearchWhoseRestIsNotWorthItsWhile) {
  TuneRequest request = fake::request_of({}, file("log"));
  request.most_points = request.budget.emplace(300);
  request.target = 0.5;  // the times lie between 100 and 200 us
  const ProblemReport report = fake::tune_into(file("a.db"), request).problems.at(0);
  EXPECT_TRUE(report.target_met);
  EXPECT_EQ(report.cut_short, CutShort::no);
  EXPECT_TRUE(report.winner.has_value());
  EXPECT_LT(report.funnel.tried, 150u);
  EXPECT_EQ(report.funnel.unfinished, 0u);
  ASSERT_TRUE(report.expected_gain.has_value());
  EXPECT_EQ(report.expected_gain->tries, 300 - report.funnel.tried);
  EXPECT_LT(report.expected_gain->gain, 0.5);
}

TEST_F(SearchTest, EachCandidateRacesAgainstTheBestThatIsKnownWhenItsTurnComes) {
  fake::tune_with_fakes(fake::some_configs(40, false), file("a.db"), file("a.log"));
  double best_us = std::numeric_limits<double>::infinity(), told_us = best_us;
  std::size_t measured = 0, told = 0;
  std::string before;
  for (const std::string& line : lines(file("a.log"))) {
    if (line.starts_with("measure ")) {
      // The one before may still be on its way back.
      if (!before.empty()) best_us = std::min(best_us, fake::time_us_of(before));
      before = line.substr(8);
      if (++measured == 30) break;  // the winner's specialisations are not timed
    } else if (line.starts_with("best ")) {
      ++told;
      EXPECT_LE(std::stod(line.substr(5)), told_us);
      told_us = std::stod(line.substr(5));
      EXPECT_GE(told_us, best_us - 1e-3);
    }
  }
  EXPECT_EQ(measured, 30u);
  EXPECT_GE(told, 27u);
  EXPECT_LT(told_us, 120);
}

TEST_F(SearchTest, FinalsVerifyEveryConfigThatTheWinnerIsServedAs) {
  const KnownConfig config = check_config(
      parse_config("vectorized_2d/BM=128,BN=64,BK=16,TM=8,TN=4,VEC=4,PAD=4,INTERLEAVE=1,PRED=0"));
  ASSERT_TRUE(fake::specialisations_compile(config));
  const TuneReport report = fake::tune_with_fakes({config}, file("a.db"), file("a.log"));
  EXPECT_TRUE(report.problems.at(0).specialisations_verified);
  std::vector<std::string> served;
  for (const KnownConfig& variant : served_variants(config)) {
    served.push_back(to_string(variant.config()));
  }
  ASSERT_EQ(served.size(), 4u);
  // The specialisations side by side, in any order.
  const std::vector<std::string> began = tried(file("a.log"), 100);
  EXPECT_THAT(began, testing::UnorderedElementsAreArray(served));
  EXPECT_EQ(began.front(), served.front());
}

TEST_F(SearchTest, AProblemForWhichNoTimeIsLeftSaysSo) {
  TuneRequest request = fake::request_of(fake::some_configs(5, false), file("a.log"));
  request.problems.push_back(packed_problem(2048, 2048, 2048));
  request.time_limit = 0s;
  const TuneReport report = fake::tune_into(file("a.db"), request);
  EXPECT_TRUE(report.out_of_time);
  EXPECT_FALSE(report.unfinished);
  ASSERT_EQ(report.problems.size(), 2u);
  for (const ProblemReport& problem : report.problems) {
    EXPECT_THAT(why_no_winner(problem), HasSubstr("time ran out"));
    EXPECT_EQ(problem.funnel.enumerated, 0u);  // planning takes time, too
  }
}

// The finals have compiled and verified what the winner is served as; a run without finals, which
// predicts, compiles the rest for a cache that it is to complete.
TEST_F(SearchTest, TheWinnersKernelsArePutIntoTheKernelCacheAsItIsServed) {
  for (const bool measured : {true, false}) {
    const std::string name = measured ? "measured" : "predicted";
    TuneRequest request = fake::request_of(fake::some_configs(20, false), file(name + ".log"));
    request.measure = measured;
    request.kernel_cache = file(name);
    request.completes_kernel_cache = !measured;
    Database database(file(name + ".db"), Database::Mode::create_or_open);
    database.begin_run({"test", "13.0", "", "with fakes", 1});
    const TuneReport report = tune(request, database, [](const Progress&) {});
    const std::vector<KnownConfig> served =
        served_variants(report.problems.at(0).winner.value().config);
    EXPECT_GT(served.size(), 1u);
    for (const KnownConfig& variant : served) {
      const std::string config = to_string(variant.config());
      const auto kept = load_kernel(KernelStore(file(name)), fake::cubin_key_of(config, "none"));
      ASSERT_TRUE(kept) << config << ", " << name;
      EXPECT_EQ(kept->bytes, fake::cubin_of(config, "none")) << config;
    }
  }
}

TEST_F(SearchTest, ABaselineThatCublasRefusesIsAbsentWithAReason) {
  const auto report_of = [&](const std::string& name, const std::string& mode) {
    TuneRequest request =
        fake::request_of(fake::some_configs(20, false), file(name + ".log"), mode);
    request.baselines = {BaselineKind::cublas, BaselineKind::cublas_autotuned};
    Database database(file(name + ".db"), Database::Mode::create_or_open);
    database.begin_run({"test", "13.0", "", name, 1});
    return tune(request, database, [](const Progress&) {}).problems.at(0);
  };
  const ProblemReport with = report_of("with", "");
  ASSERT_EQ(with.winner->baselines.size(), 2u);
  EXPECT_EQ(with.winner->baselines[1].title(), "cublasGemmEx-autotuned 0.0");
  EXPECT_TRUE(with.absent_baselines.empty());
  const ProblemReport without = report_of("without", "no_autotune");
  ASSERT_EQ(without.winner->baselines.size(), 1u);
  EXPECT_EQ(without.winner->baselines[0].title(), "cublasSgemm 0.0");
  EXPECT_EQ(without.absent_baselines,
            std::vector<std::string>{"cublasGemmEx-autotuned 0.0: as the fake has it"});
  EXPECT_EQ(without.winner->config.values, with.winner->config.values);
}

TEST_F(SearchTest, FinalsAreHeldAgainBesideABaselineThatTheyLacked) {
  const auto configs = fake::some_configs(20, false);
  Database database(file("a.db"), Database::Mode::create_or_open);
  const auto tune_again = [&](const std::string& command, const auto& change) {
    database.begin_run({"test", "13.0", "", command, 1});
    TuneRequest request = fake::request_of(configs, file("a.log"));
    change(request);
    return tune(request, database, [](const Progress&) {}).problems.at(0).winner.value();
  };
  const auto run_of = [&](const TuneWinner& winner) {
    for (const Record& row :
         database.records(device_key(find_device_spec("sm_90").value()), fake::kProblem)) {
      if (row.config == to_string(winner.config.config())) return row.run.command;
    }
    return std::string("none");
  };
  const auto nothing = [](TuneRequest&) {};
  const auto both = [](TuneRequest& request) {
    request.baselines = {BaselineKind::cublas, BaselineKind::cublas_lt};
  };
  const TuneWinner first = tune_again("first", nothing);
  EXPECT_EQ(first.baselines.size(), 1u);
  const TuneWinner second = tune_again("second", both);
  ASSERT_EQ(second.baselines.size(), 2u);
  EXPECT_EQ(to_string(second.baselines[1]), "cublasLt 0.0 (best of 7 heuristics)");
  EXPECT_EQ(run_of(second), "second");
  // Both are known now, and one of them is enough.
  EXPECT_EQ(tune_again("third", both).baselines, second.baselines);
  EXPECT_EQ(run_of(tune_again("fourth", nothing)), "second");
  const TuneWinner asked = tune_again("fifth", [](TuneRequest& r) { r.finals_again = true; });
  EXPECT_EQ(run_of(asked), "fifth");
  EXPECT_EQ(asked.config.values, first.config.values);
}

TEST_F(SearchTest, MoreConfigsAndSizesRetryNothingThatIsStored) {
  fake::tune_with_fakes(fake::some_configs(20, true), file("a.db"), file("a.log"));
  const auto before = rows(file("a.db"));
  fs::remove(file("a.log"));
  fake::tune_with_fakes(fake::some_configs(40, true), file("a.db"), file("a.log"));
  EXPECT_GT(rows(file("a.db")).size(), before.size());
  for (const std::string& line : lines(file("a.log"))) {
    if (!line.starts_with("measure ")) continue;
    EXPECT_FALSE(before.contains(line.substr(8))) << line;
  }
}

}  // namespace
}  // namespace gemm_tune
