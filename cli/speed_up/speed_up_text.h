// SPDX-License-Identifier: Apache-2.0
// What `gemm-tune speed-up` tells: which products take the time, what a search found, and what the
// winners gained. Each fits 80 columns but for long texts of problems and commands.
//
// Pure; any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/capture/called_problems.h"
#include "cli/capture/wanted_problems.h"
#include "core/device/device_spec.h"
#include "tuner/plan/problem_report.h"

namespace gemm_tune {

// Of all calls together, where some were timed: those that were not count by their operations.
std::optional<double> gemm_us(const CalledProblems& called);
std::int64_t calls_of(const CalledProblems& called);

// A table of the costliest products, with the static model's time beside the measured one.
std::string products_text(const std::vector<WantedProblem>& wanted, const DeviceSpec& device);

// "12.1 us, 1.210 of cublasSgemm" of the kernel that would serve the problem, and what the best of
// the libraries' algorithms takes, where that is faster.
std::string found_text(const ProblemReport& report, bool is_measured);

// One run of the program; without `seconds` where it did not come to its own end.
struct ProgramTimes {
  std::optional<double> seconds;
  std::optional<double> gemm_us;
  std::int64_t calls = 0;
};

// Wall time and GPU time of the products, before and served, each with the ratio.
std::string comparison_text(const ProgramTimes& before, const ProgramTimes& served);

}  // namespace gemm_tune
