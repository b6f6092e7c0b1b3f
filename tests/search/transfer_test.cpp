// SPDX-License-Identifier: Apache-2.0
#include "search/strategy/transfer.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <stdexcept>
#include <string>
#include <vector>

namespace gemm_tune {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// 20 points on a line beside a switch of two.
SearchSpace line() {
  SearchParam length = {"A", {}};
  std::vector<SearchSpace::ValueIndex> places;
  for (std::uint16_t a = 0; a < 20; ++a) {
    length.values.push_back(std::to_string(a));
    for (std::uint16_t b = 0; b < 2; ++b) places.insert(places.end(), {a, b});
  }
  return SearchSpace({length, {"B", {"0", "1"}}}, std::move(places));
}

// At the source the model was right for B=0 and 1.5 times too low for B=1, at every third A.
Evidence evidence(double likeness) {
  Evidence source = {likeness, {}};
  for (std::size_t point = 0; point < 40; point += 6) {
    source.log_ratios.emplace_back(point, 0.3);  // all its times are longer: of no account
    source.log_ratios.emplace_back(point + 1, 0.3 + std::log(1.5));
  }
  return source;
}

TEST(TransferTest, WithoutEvidenceThePriorStays) {
  const SearchSpace space = line();
  const std::vector<double> prior(40, 7.0);
  EXPECT_EQ(transferred_prior(space, prior, {}), prior);
  const std::vector<Evidence> empty = {{1.0, {}}};
  EXPECT_EQ(transferred_prior(space, prior, empty), prior);
}

TEST(TransferTest, WhatTheModelGotWrongElsewhereIsCorrectedForPointsThatWereNeverTimed) {
  const SearchSpace space = line();
  const std::vector<Evidence> sources = {evidence(1.0)};
  const std::vector<double> prior =
      transferred_prior(space, std::vector<double>(40, 10.0), sources);
  for (std::size_t point = 0; point < 40; point += 2) {
    EXPECT_NEAR(prior[point + 1] / prior[point], 1.5, 0.08) << point;
  }
}

TEST(TransferTest, TheLessAlikeTheSourceTheLessItCorrects) {
  const SearchSpace space = line();
  const std::vector<Evidence> sources = {evidence(0.5)};
  const std::vector<double> prior =
      transferred_prior(space, std::vector<double>(40, 10.0), sources);
  EXPECT_NEAR(prior[1] / prior[0], std::sqrt(1.5), 0.01);
}

// A config that took half again as long as the model says, unlike all that are similar.
TEST(TransferTest, AnErrorUnlikeThoseOfItsNeighboursCountsTheMoreTheMoreProblemsHadIt) {
  const SearchSpace space = line();
  Evidence source = {0.8, {}};
  for (std::size_t point = 0; point < 40; ++point) {
    source.log_ratios.emplace_back(point, point == 20 ? std::log(1.5) : 0);
  }
  const auto corrected_by = [&](std::size_t problems) {
    const std::vector<Evidence> sources(problems, source);
    const std::vector<double> prior =
        transferred_prior(space, std::vector<double>(40, 1.0), sources);
    EXPECT_NEAR(prior[2], 1, 0.02);
    return prior[20];
  };
  const double by_one = corrected_by(1), by_eight = corrected_by(8);
  EXPECT_GT(by_one, 1.1);
  EXPECT_LT(by_one, 1.25);
  EXPECT_GT(by_eight, 1.3);
  EXPECT_LT(by_eight, std::pow(1.5, 0.8));
}

TEST(TransferTest, OfTwoSourcesTheOneMoreAlikeCountsMore) {
  const SearchSpace space = line();
  Evidence opposite = evidence(0.25);
  for (auto& [point, ratio] : opposite.log_ratios) ratio = point % 2 == 0 ? std::log(1.5) : 0;
  const std::vector<Evidence> sources = {evidence(1.0), opposite};
  const std::vector<double> prior =
      transferred_prior(space, std::vector<double>(40, 10.0), sources);
  EXPECT_GT(prior[1], 1.2 * prior[0]);
  EXPECT_LT(prior[1], 1.4 * prior[0]);
}

TEST(TransferTest, HopelessAndUnknownPointsStaySo) {
  const SearchSpace space = line();
  std::vector<double> prior(40, 10.0);
  prior[0] = kInfinity;
  prior[2] = std::numeric_limits<double>::quiet_NaN();
  const std::vector<Evidence> sources = {evidence(1.0)};
  const std::vector<double> result = transferred_prior(space, prior, sources);
  EXPECT_EQ(result[0], kInfinity);
  EXPECT_TRUE(std::isnan(result[2]));
  EXPECT_GT(result[1] / result[4], 1.3);
}

TEST(TransferTest, RefusesAPriorOfAnotherLengthAndPointsOutsideTheSpace) {
  const SearchSpace space = line();
  EXPECT_THROW(transferred_prior(space, {1.0}, {}), std::invalid_argument);
  const std::vector<Evidence> outside = {{1.0, {{40, 0.1}}}};
  EXPECT_THROW(transferred_prior(space, std::vector<double>(40, 1.0), outside), std::out_of_range);
}

TEST(LikenessTest, FallsWithTheDistanceOfTheDimensions) {
  const Problem here = parse_problem("1024x1024x1024");
  EXPECT_EQ(likeness(here, here), 1.0);
  const double near = likeness(here, parse_problem("2048x1024x1024"));
  const double far = likeness(here, parse_problem("64x64x65536"));
  EXPECT_LT(near, 1.0);
  EXPECT_LT(far, near);
  EXPECT_GT(far, 0.0);
  EXPECT_EQ(likeness(parse_problem("64x64x65536"), here), far);
  EXPECT_LT(likeness(here, parse_problem("1024x1024x1024:layout=nt")), 1.0);
}

TEST(LikenessTest, NearIsWithinAFactorOfTwoInEachExtentAndRatioWithTheSameAccessesAndEdges) {
  const Problem here = parse_problem("1280x1280x1280");
  const auto near = [&](const char* there) {
    const Problem other = parse_problem(there);
    EXPECT_EQ(is_near(here, other), is_near(other, here)) << there;
    return is_near(here, other);
  };
  for (const char* const there :
       {"1280x1280x1280", "1024x1024x1024", "2560x2560x2560", "1280x1280x2560"}) {
    EXPECT_TRUE(near(there)) << there;
  }
  for (const char* const there :
       {"2576x1280x1280", "1280x624x1280", "1280x1280x4096", "2560x1280x896", "2560x640x1536",
        "1312x1280x1280", "1280x1312x1280", "1280x1280x1296", "1000x1000x1001",
        "1280x1280x1280:layout=nt", "1280x1280x1280:batch=3", "1280x1280x1280:type=bf16"}) {
    EXPECT_FALSE(near(there)) << there;
  }
  EXPECT_TRUE(is_near(parse_problem("1300x1300x1300"), parse_problem("1100x900x1000")));
  const Problem on_tensor_cores = parse_problem("1280x1280x1280:type=bf16");
  EXPECT_FALSE(is_near(on_tensor_cores, on_tensor_cores));
}

TEST(LikenessTest, FallsWithTheDistanceOfTheGpus) {
  const DeviceSpec h100 = find_device_spec("sm_90").value(),
                   a100 = find_device_spec("sm_80").value(),
                   a6000 = find_device_spec("sm_86").value();
  DeviceSpec smaller = h100;
  smaller.sm_count = 114;
  EXPECT_EQ(likeness(h100, h100), 1.0);
  EXPECT_LT(likeness(h100, smaller), 1.0);
  EXPECT_LT(likeness(a6000, a100), likeness(h100, smaller));
  EXPECT_LT(likeness(h100, a100), likeness(a6000, a100));
}

}  // namespace
}  // namespace gemm_tune
