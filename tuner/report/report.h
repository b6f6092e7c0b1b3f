// SPDX-License-Identifier: Apache-2.0
// What a run, a query or a ladder says: text for people, JSON for programs. Pure: values in, text
// out.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "tuner/app/target.h"
#include "tuner/job/problem_report.h"

namespace gemm_tune {

// How every prediction is labelled.
inline constexpr const char* kPredictedLabel = "predicted, not timed";

// "12.3 TFLOP/s" from a problem and one launch's time; "-" for a problem without work.
std::string tflops_text(const Problem& problem, double time_us);

// "1,234,567".
std::string grouped(std::uint64_t value);

std::string funnel_text(const Funnel& funnel, bool measured);
std::string problem_text(const ProblemReport& report, const Target& target);
nlohmann::json problem_json(const ProblemReport& report, const Target& target);

// A candidate's time and how sure it is: "50 us (95 %: 49.8 to 50.3), 42.9 TFLOP/s". The interval
// is that of median_interval(), left out below the 6 samples that it needs.
std::string time_text(const Problem& problem, const Outcome& outcome);

// What a measured candidate's time_text() is followed by: "; cublasSgemm 13.1.0 40 us, 53.7
// TFLOP/s: 0.800 of its speed", each further baseline on a line of its own.
std::string baselines_text(const Problem& problem, const Outcome& outcome,
                           const std::vector<Baseline>& baselines, const std::string& indent);

// What else is known of a measured candidate, a line each: its cold time beside the baselines',
// whom it is tied with, what disturbed it. tied: config texts; five are named, the rest counted.
std::string measured_details(const Problem& problem, const Outcome& outcome,
                             const std::vector<Baseline>& baselines,
                             const std::vector<std::string>& tied, const std::string& indent);

// The same for programs: time_us, interval_us, cold_us, conditions, disturbance, tied, baselines.
nlohmann::json time_json(const Outcome& outcome, const std::vector<Baseline>& baselines,
                         const std::vector<std::string>& tied);

// How to turn predictions into timings. command_line: the one that predicted.
std::string how_to_time(const Target& target, const std::string& command_line);

}  // namespace gemm_tune
