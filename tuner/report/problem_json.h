// SPDX-License-Identifier: Apache-2.0
// A finished problem for programs: the JSON of what tuner/report/report.h says in text. Pure.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tuner/plan/problem_report.h"
#include "tuner/plan/target.h"

namespace gemm_tune {

nlohmann::json problem_json(const ProblemReport& report, const Target& target);

// Of a measured candidate: time_us, interval_us, cold_us, error, conditions, disturbance, tied,
// baselines. tied: config texts.
nlohmann::json time_json(const Outcome& outcome, const std::vector<Baseline>& baselines,
                         const std::vector<std::string>& tied);

// The GPU whose times the model's constants for the device's architecture are fitted to, or null.
nlohmann::json model_measured_on(const DeviceSpec& device);

}  // namespace gemm_tune
