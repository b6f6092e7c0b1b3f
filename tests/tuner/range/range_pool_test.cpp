// SPDX-License-Identifier: Apache-2.0
// Which configs a range of M tries, by the static model alone.
#include "tuner/range/range_pool.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "core/device/device_spec.h"
#include "core/error.h"
#include "kernel_templates/registry/order_of_sums.h"
#include "kernel_templates/registry/registry.h"
#include "tests/db/fixture.h"
#include "tests/temp_folder.h"
#include "tuner/plan/candidates.h"
#include "tuner/range/range_tuning.h"
#include "tuner/report/range_table.h"

namespace gemm_tune {
namespace {

class RangePoolTest : public testing::Test {
 protected:
  std::vector<KnownConfig> pool(bool in_one_order) {
    TuneRequest request;
    request.device = find_device_spec("sm_90").value();
    request.families = {find_family("wgmma")};
    request.in_one_order = in_one_order;
    request.budget = 60;
    for (const char* m : {"1", "32", "128", "4096"}) {
      request.problems.push_back(parse_problem(m + std::string("x4096x4096:type=bf16:layout=nt")));
    }
    return range_pool(request, request.problems, database_);
  }

 protected:
  const TempFolder folder_;
  Database database_{folder_.path() / "a.db", Database::Mode::create_or_open};
};

TEST_F(RangePoolTest, AnOrderWithSharesHasClustersForFewRowsAndCtasWithAllSharesForMany) {
  struct Count {
    int clusters = 0, serial = 0;
  };
  std::map<std::string, Count> counts;
  for (const KnownConfig& config : pool(true)) {
    Count& its = counts[order_of_sums(config).value()];
    its.clusters += config.traits.split_k > 1 ? 1 : 0;
    its.serial += config.traits.serial_shares > 1 ? 1 : 0;
  }
  EXPECT_TRUE(counts.contains("wgmma rising"));
  for (const char* order : {"wgmma rising,K_SHARES=2", "wgmma rising,K_SHARES=4"}) {
    EXPECT_GE(counts[order].clusters, 4) << order;
    EXPECT_GE(counts[order].serial, 4) << order;
  }
}

TEST_F(RangePoolTest, AnyOrderHasClustersThatShareTilesAndNoCtaWithShares) {
  int clusters = 0;
  for (const KnownConfig& config : pool(false)) {
    clusters += config.traits.split_k > 1 ? 1 : 0;
    EXPECT_EQ(config.traits.serial_shares, 1);
  }
  EXPECT_GE(clusters, 6);
}

// Rows of A are M long: M decides how wide accesses may be.
TEST_F(RangePoolTest, HasNoTwoConfigsThatDifferInTheWidthOfAccessesAlone) {
  TuneRequest request;
  request.device = find_device_spec("sm_86").value();
  request.families = {find_family("mma")};
  request.budget = 20;
  for (const char* m : {"1", "2", "4", "16", "64"}) {
    request.problems.push_back(parse_problem(m + std::string("x512x512:type=bf16:layout=tn")));
  }
  const std::vector<KnownConfig> pool = range_pool(request, request.problems, database_);
  EXPECT_EQ(pool.size(), 20u);
  std::set<std::string> tunables;
  for (const KnownConfig& config : pool) {
    Specialisation narrow = config.specialisation();
    narrow.vec = 1;
    narrow.predicated = true;
    tunables.insert(to_string(specialised(config, narrow).config()));
  }
  EXPECT_EQ(tunables.size(), pool.size());
}

// A Turing GPU has no cp.async, which wide accesses of some configs ask for and narrow ones do not.
TEST_F(RangePoolTest, HasConfigsThatMayBeTriedAtEveryM) {
  TuneRequest request;
  request.device = find_device_spec("sm_75").value();
  request.families = {find_family("mma")};
  request.budget = 2;
  for (const char* m : {"3", "4", "8", "64"}) {
    request.problems.push_back(parse_problem(m + std::string("x512x130:type=f16:layout=tn")));
  }
  request.only = range_pool(request, request.problems, database_);
  request.specialises = true;
  for (const Problem& problem : request.problems) {
    SpaceMemory memory;
    EXPECT_EQ(candidates_for(request, problem, memory).points.size(), 2u) << to_string(problem);
  }
}

// Kernels that load by the copy engine serve no M of a transposed A whose rows are not whole 16
// bytes.
TEST_F(RangePoolTest, ServesEveryMHoweverSmallTheBudget) {
  for (const bool in_one_order : {false, true}) {
    TuneRequest request;
    request.device = find_device_spec("sm_90").value();
    request.in_one_order = in_one_order;
    request.budget = 1;
    for (const char* m : {"512", "513", "768", "1023", "2048"}) {
      request.problems.push_back(parse_problem(m + std::string("x1024x1024:type=bf16:layout=tn")));
    }
    const std::vector<KnownConfig> one = range_pool(request, request.problems, database_);
    ASSERT_EQ(one.size(), 1u);
    for (const Problem& problem : request.problems) {
      EXPECT_TRUE(specialised_for(one.front(), problem)) << to_string(problem);
    }
  }
}

// The pool's time may be used up before each M has had a try.
TEST_F(RangePoolTest, AnMThatNoTimedConfigServesIsServedByAnotherInTheFinals) {
  TuneRequest request;
  request.device = find_device_spec("sm_90").value();
  request.measure = true;
  for (const char* m : {"64", "65"}) {
    request.problems.push_back(parse_problem(m + std::string("x512x512:type=bf16:layout=tn")));
  }
  const std::string wgmma = "wgmma/AB=2,CD=2,BM=64,BN=64,GROUPS=1,PINGPONG=0,";
  for (const char* const rest :
       {"TA=1,TB=0", "REPACK=1,TA=1,TB=0", "CLUSTER_M=2,REPACK=1,TA=1,TB=0"}) {
    request.only.push_back(check_config(parse_config(wgmma + rest)));
  }
  std::vector<std::size_t> tried;
  const RunSearch search = [&](const TuneRequest& asked) {
    database_.begin_run(kRun);
    tried.push_back(asked.only.size());
    TuneReport report;
    for (const Problem& problem : asked.problems) {
      report.problems.emplace_back().problem = problem;
      const bool is_late = tried.size() == 1 && problem.M == 65;
      for (const KnownConfig& config : asked.only) {
        const auto special = specialised_for(config, problem);
        if (!special || is_late) continue;
        Outcome outcome = measured(config.traits.repack ? 12 : 10);
        const bool fails = problem.M == 65 && special->traits.cluster_ctas == 1;
        if (fails) {
          outcome = Outcome();
          outcome.disposition = Disposition::wrong_result;
          outcome.detail = "an element differs";
        }
        database_.store(device_key(asked.device), problem, to_string(special->config()),
                        std::to_string(config.family->revision), outcome, Source::measured);
      }
    }
    return report;
  };
  tune_range(request, 0.05, database_, search);
  // The pool, the one that is near the best at 64 with one that may serve 65, and with another,
  // since that one fails.
  EXPECT_EQ(tried, (std::vector<std::size_t>{3, 2, 2}));
}

TEST_F(RangePoolTest, WithoutAGpuAnMThatTheTimeDidNotReachIsServedByAnEarlierConfig) {
  TuneRequest request;
  request.device = find_device_spec("sm_90").value();
  request.budget = 8;
  request.time_limit = std::chrono::seconds(1);
  for (const char* m : {"64", "65", "512"}) {
    request.problems.push_back(parse_problem(m + std::string("x512x512:type=bf16:layout=tn")));
  }
  std::vector<TuneRequest> asked;
  const RunSearch search = [&](const TuneRequest& one) {
    asked.push_back(one);
    TuneReport report;
    report.out_of_time = asked.size() == 1;
    for (const Problem& problem : one.problems) {
      if (report.out_of_time && problem.M == 512) break;  // not begun
      ProblemReport& its = report.problems.emplace_back();
      its.problem = problem;
      if (report.out_of_time && problem.M == 65) continue;  // begun without a result
      its.winner.emplace();
      its.winner->config = specialised_for(one.only.front(), problem).value();
    }
    return report;
  };
  const RangeTuned tuned = tune_range(request, 0.05, database_, search);
  ASSERT_EQ(asked.size(), 2u);
  EXPECT_EQ(asked[1].problems.size(), 2u);
  EXPECT_FALSE(asked[1].time_limit);
  EXPECT_EQ(asked[1].only.size(), 1u);
  for (const RangeRow& row : tuned.range.rows) EXPECT_NE(row.config, "") << to_string(row.problem);
  EXPECT_TRUE(tuned.report.out_of_time);
  RangeReport table = tuned.range;
  for (RangeRow& row : table.rows) row.of_best = 0.96;
  EXPECT_THAT(range_table(table), testing::HasSubstr("for all M, within 5 % of the best of 8 at"));
  table.rows.back().of_best = 0.4;
  EXPECT_THAT(range_table(table), testing::HasSubstr("within 150 %, not 5 %, of the best of 8 at"));
}

TEST_F(RangePoolTest, ARunWithoutTheOrderThatFinalsHaveVerifiedEndsBeforeItsPoolIsTimed) {
  const auto config = [](const std::string& split_k) {
    return "mma/AB=2,CD=0,BM=16,BN=32,BK=64,WM=16,WN=16,MMA_K=16,STAGES=3,ASYNC=1,VEC=8,RASTER=8,"
           "SPLIT_K=" +
           split_k + ",TA=0,TB=1,PRED=1";
  };
  TuneRequest request;
  request.device = find_device_spec("sm_86").value();
  request.measure = true;
  request.in_one_order = true;
  request.only = {check_config(parse_config(config("1")))};
  database_.begin_run(kRun);
  const std::string revision = std::to_string(find_family("mma")->revision);
  for (const char* m : {"1", "2"}) {
    const std::string problem = m + std::string("x512x1024:type=bf16/bf16/f32/f32:layout=nt");
    request.problems.push_back(parse_problem(problem));
    store_measured(database_, device_key(request.device), problem, config("4"), 5, revision);
  }
  int searches = 0;
  const RunSearch count = [&](const TuneRequest&) {
    ++searches;
    return TuneReport();
  };
  EXPECT_THROW(tune_range(request, 0.05, database_, count), NothingFound);
  EXPECT_EQ(searches, 0);
  request.only.push_back(check_config(parse_config(config("4"))));
  EXPECT_NO_THROW(tune_range(request, 0.05, database_, count));
  EXPECT_GT(searches, 0);
}

TEST_F(RangePoolTest, AVerifiedOrderStaysUntilFinalsAreAskedForAgain) {
  TuneRequest request;
  request.device = find_device_spec("sm_86").value();
  request.measure = true;
  request.in_one_order = true;
  request.budget = 8;
  request.families = {find_family("mma")};
  for (const char* m : {"1", "16"}) {
    request.problems.push_back(parse_problem(m + std::string("x4096x4096:type=bf16:layout=nt")));
  }
  const KnownConfig slow = check_config(
      parse_config("mma/AB=2,CD=2,BM=32,BN=64,BK=64,WM=16,WN=32,MMA_K=16,STAGES=3,ASYNC=1,VEC=8,"
                   "RASTER=8,SPLIT_K=1,TA=0,TB=1,PRED=1"));
  std::set<std::string> known;
  double slow_us = 13, others_in_finals_us = 10;
  const RunSearch search = [&](const TuneRequest& asked) {
    database_.begin_run(kRun);
    TuneReport report;
    for (const Problem& problem : asked.problems) {
      report.problems.emplace_back().problem = problem;
      for (const KnownConfig& config : asked.only) {
        const std::string text = to_string(specialised_for(config, problem)->config());
        const bool is_new = known.insert(to_string(problem) + text).second;
        if (!is_new && !asked.holds_finals) continue;  // nothing is timed twice
        const bool is_slow = order_of_sums(config) == order_of_sums(slow);
        const double others_us = asked.holds_finals ? others_in_finals_us : 10;
        Outcome outcome = timed_alone(is_slow ? slow_us : others_us);
        if (asked.holds_finals) outcome.ranking = Ranking{1, {}, true, true};
        database_.store(device_key(asked.device), problem, text,
                        std::to_string(config.family->revision), outcome, Source::measured);
      }
    }
    return report;
  };
  const auto tuned = [&] { return tune_range(request, 0.05, database_, search).range; };
  request.only = {slow};
  const RangeReport forced = tuned();
  EXPECT_FALSE(forced.order_cost);
  EXPECT_THAT(range_table(forced), testing::HasSubstr("is not known before the same is tuned"));
  request.only.clear();
  const RangeReport kept = tuned();
  EXPECT_EQ(kept.order, forced.order);
  EXPECT_THAT(range_table(kept), testing::HasSubstr("costs 30.0 % in the mean, 30.0 % at M = 1"));
  EXPECT_DOUBLE_EQ(range_json(kept).at("order_costs").at("mean"), 1.3);
  request.finals_again = true;
  others_in_finals_us = 20;
  const RangeReport misled = tuned();
  EXPECT_NE(misled.order, forced.order);
  EXPECT_EQ(misled.order_of_calls, forced.order);
  EXPECT_THAT(range_table(misled),
              testing::HasSubstr("calls are served in the order mma MMA_K=16,"));
  others_in_finals_us = 10;
  const RangeReport anew = tuned();
  EXPECT_EQ(anew.order_of_calls, "");
  EXPECT_NE(anew.order, forced.order);
  EXPECT_THAT(range_table(anew), testing::HasSubstr("costs nothing beside"));
  const OneOrder stored = stored_orders(request, database_);
  EXPECT_EQ(*stored.order_for(device_key(request.device), request.problems[0]), anew.order);
  slow_us = 5;
  request.problems.pop_back();
  EXPECT_EQ(tuned().order, anew.order) << "verified at more M than this run has";
}

}  // namespace
}  // namespace gemm_tune
