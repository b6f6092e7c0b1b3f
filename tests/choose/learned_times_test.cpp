// SPDX-License-Identifier: Apache-2.0
// What serves an untuned problem where the static model's times are learned for some kernels and
// not for others (search/model/learned_correction.h).
#include <cmath>
#include <string>
#include <vector>

#include "choose/choose.h"
#include "choose/expected_time.h"
#include "choose/most_of_cublas.h"
#include "choose/near_winners.h"
#include "choose/timed_configs.h"
#include "tests/db/fixture.h"
#include "tests/matchers.h"

namespace gemm_tune {
namespace {

const DeviceKey kCard = {"sm_90", "NVIDIA H100 80GB HBM3", 132};
const char* const kLearnedTile =
    "warp_tiled/CLUSTER=0,BM=64,BN=64,BK=16,WM=32,WN=32,TM=8,TN=4,WARPS_K=1,STAGES=3,ASYNC=1,"
    "FRAGMENTS=2,VEC=1,RASTER=8,CTAS=1,SPLIT_K=1,TAIL=0,TA=0,TB=0,PRED=1";
const char* const kOtherTile = "tiled_2d/BM=64,BN=64,BK=16,TM=4,TN=4,PRED=1";
const char* const kWholeTiles = "tiled_2d/BM=64,BN=64,BK=16,TM=4,TN=4,PRED=0";

DeviceSpec spec_of_card() { return modelled_device(kCard).value(); }
double modelled(const std::string& config, const std::string& problem) {
  return modelled_us(check_config(parse_config(config)), parse_problem(problem), spec_of_card())
      .value();
}

TEST(LearnedTimesTest, AConfigsOwnErrorCountsLessUpToADoublingAndThenNoMore) {
  EXPECT_EQ(log_correction_at(1, 0.4, 0.1, true), 0.4);
  EXPECT_NEAR(log_correction_at(std::sqrt(2.0), 0.4, 0.1, true), 0.25, 1e-12);
  EXPECT_EQ(log_correction_at(2, 0.4, 0.1, true), 0.1);
  EXPECT_EQ(log_correction_at(50, 0.4, 0.1, true), 0.1);
  EXPECT_EQ(log_correction_at(50, 0.4, 0.1, false), 0.4);
}

TEST(LearnedTimesTest, NoMarginToCublasIsNeeded) {
  EXPECT_EQ(most_of_cublas(8, false, true), 1);
  EXPECT_DOUBLE_EQ(most_of_cublas(8, true, true), 0.92);
  EXPECT_EQ(most_of_cublas(1, true, true), 1);
}

// Times of other families say nothing of learned ones.
TEST(LearnedTimesTest, TimedConfigsAreDrawnToTheMedianOfLearnedOnes) {
  const std::string far = "1024x1024x1024";
  for (const double off : {0.3, 3.0}) {
    std::vector<TimedConfig> rows;
    const auto add = [&](const char* config, const std::string& problem, double factor) {
      rows.push_back(
          {kCard, parse_problem(problem), config, "1", factor * modelled(config, problem)});
    };
    add(kLearnedTile, "128x128x128", 1.1);
    for (const char* problem : {"96x128x128", "128x96x128", "64x64x64", "200x100x90"}) {
      add(kOtherTile, problem, off);
    }
    const TimedConfigs timed(std::move(rows));
    int found = 0;
    for (const TimedCandidate& one : timed.fastest(kCard, spec_of_card(), parse_problem(far), 10)) {
      if (to_string(one.config->config()) != kLearnedTile) continue;
      ++found;
      EXPECT_NEAR(one.expected_us / modelled(kLearnedTile, far), 1.1, 1e-9) << off;
    }
    EXPECT_EQ(found, 1) << off;
  }
}

class NearLearnedTest : public DbTest {
 protected:
  void store(const std::string& problem, const char* config, double factor) {
    store_measured(database_, kCard, problem, config, factor * modelled(config, problem));
  }
  std::string chosen(const std::string& problem) {
    const Choice choice =
        choose(load_tuned(database_, "sm_90", kRevisions), kCard, parse_problem(problem), {});
    return to_string(choice.config->config());
  }

  Database database_ = writable(file_);
};

TEST_F(NearLearnedTest, AKernelWithoutLearnedTimesMustBeFasterByAMargin) {
  const std::string asked = "1000x1000x1000";
  const double ratio = modelled(kLearnedTile, asked) / modelled(kOtherTile, asked);
  store("400x400x400", kLearnedTile, 1);
  store("410x400x400", kOtherTile,
        0.9 * ratio);  // .9 of the learned one's time, at a distance of 15
  EXPECT_EQ(chosen(asked), kLearnedTile);
  store("410x400x400", kOtherTile, 0.8 * ratio);
  EXPECT_EQ(chosen(asked), kOtherTile);
}

TEST_F(NearLearnedTest, ItsSpecialisationFarAwayServesNoMore) {
  const std::string asked = "1000x1000x1000";
  const double ratio = modelled(kLearnedTile, asked) / modelled(kOtherTile, asked);
  store("400x400x400", kLearnedTile, 1);
  store("448x384x400", kWholeTiles, 0.2 * ratio);
  EXPECT_EQ(chosen(asked), kLearnedTile);
}

TEST_F(NearLearnedTest, AloneItServesAsBefore) {
  store("448x384x400", kWholeTiles, 1);
  EXPECT_EQ(chosen("1000x1000x1000"), kOtherTile);
}

}  // namespace
}  // namespace gemm_tune
