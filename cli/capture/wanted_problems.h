// SPDX-License-Identifier: Apache-2.0
// The problems of a program that tuning can serve, by what they cost it.
//
// Pure; any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/arguments/values/sizes.h"
#include "cli/capture/called_problems.h"

namespace gemm_tune {

// All calls of a problem, by whatever function.
struct WantedProblem {
  Problem problem;
  std::string text;  // the problem's
  std::int64_t calls = 0;
  double flops = 0, cost = 0;    // of all calls; the unit of costs_of_calls()
  std::optional<double> gpu_us;  // of all calls, where measured
};

// The problems that are served or would be once they are tuned, the costliest first.
std::vector<WantedProblem> wanted_problems(const CalledProblems& called);

// What --from-capture reads; command_line: who wrote it, for the reader.
std::string capture_text(const std::vector<WantedProblem>& wanted, const std::string& command_line);

// The same as values.
WeightedProblems weighted(const std::vector<WantedProblem>& wanted);

}  // namespace gemm_tune
