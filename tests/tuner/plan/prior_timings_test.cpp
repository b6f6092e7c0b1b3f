// SPDX-License-Identifier: Apache-2.0
#include "tuner/plan/prior_timings.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "search/model/static_model.h"
#include "tests/kernel_templates/spaces.h"
#include "tuner/job/tune.h"

namespace gemm_tune {
namespace {

const DeviceSpec kA6000 = find_device_spec("sm_86").value();
const Problem k1024 = packed_problem(1024, 1024, 1024);

std::string tile(int bm, int bn, int vec, int pred) {
  return "vectorized_2d/BM=" + std::to_string(bm) + ",BN=" + std::to_string(bn) +
         ",BK=8,TM=8,TN=8,VEC=" + std::to_string(vec) +
         ",PAD=0,INTERLEAVE=1,PRED=" + std::to_string(pred);
}

// Eight tiles that divide 1024.
std::vector<KnownConfig> some_points(int vec, int pred) {
  std::vector<KnownConfig> points;
  for (const int bm : {64, 128}) {
    for (const int bn : {64, 128}) {
      for (const int bk : {8, 16}) {
        KnownConfig point = known(tile(bm, bn, vec, pred));
        point.values[*point.family->find_param("BK")] = bk;
        points.push_back(known_config(*point.family, point.values));
      }
    }
  }
  return points;
}

// Each timed at 1.5 times its prediction.
std::vector<TimedConfig> timed(const std::vector<KnownConfig>& configs, const DeviceSpec& device,
                               const Problem& problem) {
  std::vector<TimedConfig> rows;
  for (const KnownConfig& one : configs) {
    rows.push_back({device_key(device), problem, to_string(one.config()), "hash",
                    1.5 * predict(one.traits, problem, device).time_us});
  }
  return rows;
}

std::vector<PriorTimings> timings_for(std::span<const TimedConfig> rows, const DeviceSpec& device,
                                      const Problem& problem, const ConfigList& points) {
  return prior_timings(rows, device, problem, PointIndex(points));
}

TEST(PriorTimingsTest, SayHowFarOffTheStaticModelWasForEachPoint) {
  const auto points = some_points(4, 0);
  const Problem other = packed_problem(2048, 2048, 2048);
  const auto found = timings_for(timed(points, kA6000, other), kA6000, k1024, points);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].device, device_key(kA6000));
  EXPECT_EQ(found[0].problem, other);
  EXPECT_EQ(found[0].evidence.likeness, likeness(other, k1024));
  ASSERT_EQ(found[0].evidence.log_ratios.size(), 8u);
  for (std::size_t i = 0; i < 8; ++i) {
    EXPECT_EQ(found[0].evidence.log_ratios[i].first, i);
    EXPECT_NEAR(found[0].evidence.log_ratios[i].second, std::log(1.5), 1e-12);
  }
}

TEST(PriorTimingsTest, AConfigStandsForTheOneThatDiffersInWhatTheProblemSettles) {
  // Ragged and of odd rows there, whole tiles and wide accesses here; and the other way round.
  const auto wide = some_points(4, 0), ragged = some_points(1, 1);
  const Problem odd = packed_problem(1023, 1023, 1023);
  const auto to_wide = timings_for(timed(ragged, kA6000, odd), kA6000, k1024, wide);
  ASSERT_EQ(to_wide.size(), 1u);
  EXPECT_EQ(to_wide[0].evidence.log_ratios.size(), 8u);
  EXPECT_EQ(to_wide[0].evidence.log_ratios[3].first, 3u);
  const auto to_ragged = timings_for(timed(wide, kA6000, k1024), kA6000, odd, ragged);
  ASSERT_EQ(to_ragged.size(), 1u);
  EXPECT_EQ(to_ragged[0].evidence.log_ratios.size(), 8u);
  EXPECT_NEAR(to_ragged[0].evidence.log_ratios[3].second, std::log(1.5), 1e-12);
}

std::vector<KnownConfig> points_of_widths(int vec, const char* later) {
  std::vector<KnownConfig> points;
  for (const int rows : {32, 64}) {
    for (const int ctas : {1, 2, 3, 4}) {
      points.push_back(
          known("warp_tiled/CLUSTER=0,BM=" + std::to_string(rows) +
                ",BN=64,BK=16,WM=32,WN=32,TM=8,TN=4,WARPS_K=1,STAGES=2,ASYNC=0,FRAGMENTS=2,VEC=" +
                std::to_string(vec) + ",RASTER=8,CTAS=" + std::to_string(ctas) +
                ",SPLIT_K=1,TAIL=0,TA=0,TB=0,PRED=1" + later));
    }
  }
  return points;
}

TEST(PriorTimingsTest, TheWidestAccessesThereStandForThoseOfEachOperandHere) {
  const Problem logits = parse_problem("512x50257x768");
  std::vector<KnownConfig> here = points_of_widths(1, ",VECS=411");
  for (const KnownConfig& point : points_of_widths(1, "")) here.push_back(point);
  const auto aligned =
      timings_for(timed(points_of_widths(4, ""), kA6000, k1024), kA6000, logits, here);
  ASSERT_EQ(aligned.size(), 1u);
  EXPECT_EQ(aligned[0].evidence.log_ratios[3].first, 3u);  // with VECS
  // There the same width for all was a choice, so it is here.
  const Problem other = parse_problem("256x50257x768");
  const auto narrow =
      timings_for(timed(points_of_widths(1, ""), kA6000, other), kA6000, logits, here);
  ASSERT_EQ(narrow.size(), 1u);
  EXPECT_EQ(narrow[0].evidence.log_ratios[3].first, 11u);
}

TEST(PriorTimingsTest, WherePointsWereTimedThemselvesNoOtherStandsForThem) {
  const auto points = some_points(4, 0);
  auto rows = timed(points, kA6000, packed_problem(512, 512, 512));
  const auto specialisations = timed(some_points(4, 1), kA6000, packed_problem(512, 512, 512));
  rows.insert(rows.end(), specialisations.begin(), specialisations.end());
  const auto found = timings_for(rows, kA6000, k1024, points);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].evidence.log_ratios.size(), 8u);
}

bool is_whole(const KnownConfig& config) { return !config.traits.predicated; }

TEST(PriorTimingsTest, TheLikelyFastestAreThoseOfTheLikestSourceAsTheyAreHere) {
  const auto here = some_points(4, 0), there = some_points(4, 1);
  const Problem near = packed_problem(1024, 1024, 1152);
  const auto expected_us = [&](std::size_t i) {
    return predict(here[i].traits, k1024, kA6000).time_us;
  };
  // So far off there that each is faster here than the one before it.
  std::vector<TimedConfig> rows = timed(there, kA6000, near);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    rows[i].median_us *= expected_us(0) / expected_us(i) * std::exp(-0.2 * static_cast<double>(i));
  }
  const auto found = likely_fastest(rows, kA6000, k1024, 3, is_whole);
  ASSERT_EQ(found.size(), 3u);
  for (std::size_t i = 0; i < found.size(); ++i) EXPECT_EQ(found[i].values, here[7 - i].values);
  const auto others = likely_fastest(rows, kA6000, k1024, 3, [&](const KnownConfig& config) {
    return is_whole(config) && config.values != here[6].values;
  });
  ASSERT_EQ(others.size(), 3u);
  EXPECT_EQ(others[1].values, here[5].values);
}

TEST(PriorTimingsTest, OneWinnerElsewhereLeadsAndNothingLeadsWhereNothingWasTimed) {
  const auto points = some_points(4, 0);
  const auto rows = timed({points[3]}, kA6000, packed_problem(4096, 512, 1024));
  const auto found = likely_fastest(rows, kA6000, k1024, 8, is_whole);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].values, points[3].values);
  EXPECT_TRUE(likely_fastest({}, kA6000, k1024, 8, is_whole).empty());
}

TEST(PriorTimingsTest, NothingLeadsThatWasTimedMoreThanSixOctavesAway) {
  const auto points = some_points(4, 0);
  const auto leading = [&](std::int64_t size) {
    const auto rows = timed(points, kA6000, packed_problem(1024, 1024, size));
    return likely_fastest(rows, kA6000, k1024, 8, is_whole).size();
  };
  EXPECT_EQ(leading(1024 * 60), 8u);
  EXPECT_EQ(leading(1024 * 70), 0u);
}

TEST(PriorTimingsTest, TheLikestComeFirstAndAHandfulOfTimingsDoesNotCount) {
  const auto points = some_points(4, 0);
  DeviceSpec h100 = find_device_spec("sm_90").value();
  std::vector<TimedConfig> rows;
  const auto add = [&](const std::vector<TimedConfig>& more) {
    rows.insert(rows.end(), more.begin(), more.end());
  };
  add(timed(points, kA6000, packed_problem(64, 64, 64)));
  add(timed(points, kA6000, packed_problem(2048, 1024, 1024)));
  add(timed({points.begin(), points.begin() + 7}, kA6000, packed_problem(1024, 1024, 2048)));
  add(timed(points, h100, k1024));
  h100.arch = "sm_999";  // of which nothing is known
  add(timed(points, h100, k1024));
  const auto found = timings_for(rows, kA6000, k1024, points);
  ASSERT_EQ(found.size(), 3u);
  EXPECT_EQ(found[0].problem, packed_problem(2048, 1024, 1024));
  EXPECT_GT(found[0].evidence.likeness, found[1].evidence.likeness);
  EXPECT_GE(found[1].evidence.likeness, found[2].evidence.likeness);
}

}  // namespace
}  // namespace gemm_tune
