// SPDX-License-Identifier: Apache-2.0
// The static model against times recorded on an H100 80GB HBM3 (CUDA 13.0, 2026-11-21): eight
// configs of warp_tiled for each of four problems, taken evenly from the order of their times.
#include <gtest/gtest.h>

#include <sstream>
#include <string>
#include <vector>

#include "kernel_templates/registry/registry.h"
#include "search/model/static_model.h"

namespace gemm_tune {
namespace {

struct Timed {
  double us;
  const char* values;  // BM BN BK WM WN TM TN WARPS_K STAGES ASYNC SPLIT_K
};

struct Recording {
  const char* problem;
  std::vector<Timed> timed;  // ascending
};

const std::vector<Recording>& recordings() {
  static const std::vector<Recording> all = {{"256x256x256",
                                              {{4.091, "32 32 32 16 32 4 4 2 2 0 1"},
                                               {5.984, "32 64 32 32 32 4 8 4 4 1 1"},
                                               {6.625, "32 32 8 32 16 4 4 1 2 0 2"},
                                               {7.838, "32 64 16 16 64 4 8 1 4 1 1"},
                                               {8.994, "32 32 32 16 32 4 4 4 2 0 8"},
                                               {10.97, "128 32 32 32 32 8 4 1 4 1 1"},
                                               {13.11, "64 128 16 64 64 16 8 4 4 1 2"},
                                               {16.33, "64 64 32 64 64 16 8 2 2 0 2"}}},
                                             {"1024x1024x1024",
                                              {{47.34, "64 128 16 64 32 8 8 2 4 1 1"},
                                               {56.67, "128 128 32 128 32 16 8 2 2 0 2"},
                                               {60.53, "64 32 8 32 32 8 4 1 4 1 1"},
                                               {65.23, "64 64 32 64 64 16 8 2 2 0 2"},
                                               {71.37, "64 32 32 32 32 4 8 2 4 1 1"},
                                               {78.29, "128 32 32 16 32 4 4 1 2 0 4"},
                                               {88.91, "128 128 16 128 32 16 8 2 2 0 1"},
                                               {187.5, "128 256 16 64 64 16 8 1 4 1 1"}}},
                                             {"2048x2048x2048",
                                              {{335.8, "256 128 8 64 64 16 8 1 2 0 1"},
                                               {371.5, "64 128 16 64 32 8 8 1 4 1 4"},
                                               {390.4, "128 256 8 64 64 16 8 1 2 0 2"},
                                               {404.8, "64 128 16 64 32 8 8 2 4 1 2"},
                                               {422, "128 128 8 64 64 16 8 2 4 1 2"},
                                               {442.4, "64 128 8 64 64 16 8 2 4 1 4"},
                                               {466, "64 128 32 32 64 8 8 2 2 0 1"},
                                               {692.4, "64 64 32 64 64 8 16 2 4 1 1"}}},
                                             {"256x256x8192",
                                              {{31.66, "32 128 32 32 32 8 4 2 4 1 8"},
                                               {37.33, "64 32 16 32 32 4 8 2 4 1 8"},
                                               {42.91, "32 64 8 32 64 8 8 2 2 0 8"},
                                               {59.64, "32 64 16 32 64 8 8 2 2 0 4"},
                                               {67.56, "64 64 32 64 64 8 16 4 4 1 4"},
                                               {99.8, "64 128 16 64 32 8 8 2 2 0 4"},
                                               {111.2, "64 256 8 64 64 8 16 1 4 1 8"},
                                               {126.4, "64 64 16 64 16 8 4 1 4 1 2"}}}};
  return all;
}

double predicted_us(const Timed& timed, const char* problem) {
  const char* const names[] = {"BM", "BN",      "BK",     "WM",    "WN",     "TM",
                               "TN", "WARPS_K", "STAGES", "ASYNC", "SPLIT_K"};
  Config config = parse_config(
      "warp_tiled/CLUSTER=0,FRAGMENTS=2,VEC=4,RASTER=8,CTAS=1,TAIL=0,TA=0,TB=0,PRED=0");
  std::istringstream values(timed.values);
  for (const char* name : names) {
    int value = 0;
    values >> value;
    config.params.emplace_back(name, value);
  }
  return predict(check_config(config).traits, parse_problem(problem),
                 find_device_spec("sm_90").value())
      .time_us;
}

TEST(RecordedOrderTest, OfTwoConfigsTheFasterIsPredictedFaster) {
  int pairs = 0, right = 0;
  for (const auto& [problem, timed] : recordings()) {
    for (std::size_t slow = 1; slow < timed.size(); ++slow) {
      for (std::size_t fast = 0; fast < slow; ++fast) {
        if (timed[slow].us < 1.1 * timed[fast].us) continue;
        ++pairs;
        if (predicted_us(timed[fast], problem) < predicted_us(timed[slow], problem)) ++right;
      }
    }
  }
  EXPECT_EQ(pairs, 100);  // whose times are 10 % apart
  EXPECT_GE(right, pairs * 9 / 10);
}

TEST(RecordedOrderTest, TheBestIsPredictedBest) {
  for (const auto& [problem, timed] : recordings()) {
    for (const Timed& other : timed) {
      EXPECT_LE(predicted_us(timed.front(), problem), predicted_us(other, problem))
          << problem << ": " << other.values;
    }
  }
}

TEST(RecordedOrderTest, TimesOfTheBestAreNotFarOff) {
  for (const auto& [problem, timed] : recordings()) {
    const double ratio = predicted_us(timed.front(), problem) / timed.front().us;
    EXPECT_GT(ratio, 0.9) << problem;
    EXPECT_LT(ratio, 1.3) << problem;
  }
}

}  // namespace
}  // namespace gemm_tune
