// SPDX-License-Identifier: Apache-2.0
// How good the choice for an untuned problem is, on recorded sweeps: each is left out once, and
// what is chosen from the others is held against all times of the one left out.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "choose/choose.h"
#include "research/sweep/sweep.h"

namespace gemm_tune {
namespace {

const DeviceKey kH100{"sm_90", "NVIDIA H100 80GB HBM3", 132};

// As a key names it: "128,128,16,128,32,16,8,1,2,0,1,0".
std::string config_text(const std::string& key) {
  static const char* const kNames[] = {"BM", "BN",      "BK",     "WM",    "WN",      "TM",
                                       "TN", "WARPS_K", "STAGES", "ASYNC", "SPLIT_K", "STREAM_K"};
  std::map<std::string, std::string> values;
  std::size_t begin = 0;
  for (const char* const name : kNames) {
    const std::size_t end = key.find(',', begin);
    values[name] = key.substr(begin, end - begin);
    begin = end + 1;
  }
  if (values["STREAM_K"] != "0") return "";  // there is no such config any more
  std::string text = "warp_tiled/CLUSTER=0";
  for (const char* const name :
       {"BM", "BN", "BK", "WM", "WN", "TM", "TN", "WARPS_K", "STAGES", "ASYNC"}) {
    text += std::string(",") + name + "=" + values[name];
  }
  return text + ",FRAGMENTS=2,VEC=4,RASTER=8,CTAS=1,SPLIT_K=" + values["SPLIT_K"] +
         ",TAIL=0,TA=0,TB=0,PRED=0";
}

// Of one sweep, fastest first.
std::vector<TimedConfig> recorded(const std::string& problem) {
  const Sweep sweep =
      read_sweeps(GT_RECORDED_SWEEPS "/h100_warp_tiled_" + problem + ".json.gz").at(0);
  std::vector<TimedConfig> rows;
  for (std::size_t i = 0; i < sweep.keys.size(); ++i) {
    const std::string text = config_text(sweep.keys[i]);
    if (text.empty() || !sweep.time_us[i]) continue;
    rows.push_back({kH100, parse_problem(problem), text, "", *sweep.time_us[i]});
  }
  std::sort(rows.begin(), rows.end(), [](const TimedConfig& a, const TimedConfig& b) {
    return std::pair(a.median_us, a.config) < std::pair(b.median_us, b.config);
  });
  return rows;
}

Winner winner_of(const TimedConfig& row) {
  Winner winner{check_config(parse_config(row.config)), {}};
  winner.record.device = row.device;
  winner.record.problem = row.problem;
  winner.record.config = row.config;
  winner.record.source = Source::measured;
  winner.record.outcome.timing = Timing{row.median_us, {row.median_us}, 1};
  return winner;
}

TEST(ChoiceOnSweeps, AnUntunedProblemGetsNearlyTheBestOfItsOwnSweep) {
  // What a search would have timed of the others.
  constexpr std::ptrdiff_t kTried = 100;
  std::map<std::string, std::vector<TimedConfig>> sweeps;
  for (const char* const problem :
       {"256x256x256", "512x512x512", "1024x1024x1024", "256x256x8192", "4096x512x1024"}) {
    sweeps[problem] = recorded(problem);
    ASSERT_GT(sweeps[problem].size(), 2000u);
  }
  double sum = 0;
  for (const auto& [left_out, all] : sweeps) {
    std::vector<Winner> winners;
    std::vector<TimedConfig> timed;
    for (const auto& [problem, rows] : sweeps) {
      if (problem == left_out) continue;
      winners.push_back(winner_of(rows.front()));
      timed.insert(timed.end(), rows.begin(), rows.begin() + kTried);
    }
    const Choice choice = choose(Tuned(winners, timed), kH100, parse_problem(left_out));
    const std::string text = to_string(choice.config->config());
    const auto row = std::find_if(all.begin(), all.end(),
                                  [&](const TimedConfig& one) { return one.config == text; });
    ASSERT_NE(row, all.end()) << text;
    const double share = all.front().median_us / row->median_us;
    std::printf("%s: %.3f of the best, expected %.1f us, took %.1f us\n", left_out.c_str(), share,
                choice.expected_us.value(), row->median_us);
    EXPECT_GE(share, 0.85) << left_out << ": " << text;
    EXPECT_NEAR(choice.expected_us.value() / row->median_us, 1, 0.25) << left_out;
    sum += share;
  }
  EXPECT_GE(sum / static_cast<double>(sweeps.size()), 0.93);
}

}  // namespace
}  // namespace gemm_tune
