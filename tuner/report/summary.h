// SPDX-License-Identifier: Apache-2.0
// A run's results in short: one line per problem, or a table of several problems. Pure: values in,
// text out; tuner/report/short_report.h and report.h have the longer forms.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tuner/plan/problem_report.h"
#include "tuner/plan/target.h"

namespace gemm_tune {

// "1024x1024x1024  FAMILY/...  48.7 us  44.1 TFLOP/s  1.171 of cublasSgemm". "(predicted, not
// timed)" replaces the last item for a prediction; without a winner the line gives the reason. No
// line end.
std::string result_line(const ProblemReport& report, const Target& target);

// A config's speed divided by that of a baseline.
struct Share {
  double of_speed = 0;
  std::string name;  // of the baseline
};

// Of the fastest baseline, by the times that decide; nullopt if the config was timed beside none.
std::optional<Share> share_of(const TuneWinner& timed, const std::vector<Baseline>& baselines,
                              Objective objective);

// Why a problem has no winner, with the commonest reason: "no candidate survived: registers spill
// to local memory (8 of 50 tried)".
std::string why_none(const ProblemReport& report);

// The same of a problem whose candidates are all rejected by rules: "no candidate is left: ...".
std::string why_none_left(const Funnel& funnel);

// A heading and one line per problem: family, time, throughput and share of cuBLAS's speed. Fits 80
// columns unless a problem's text is long.
std::string results_table(const std::vector<ProblemReport>& reports, const Target& target);

}  // namespace gemm_tune
