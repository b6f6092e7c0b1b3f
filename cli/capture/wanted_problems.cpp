// SPDX-License-Identifier: Apache-2.0
#include "cli/capture/wanted_problems.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <map>

#include "core/text/quantity.h"
#include "tuner/report/report.h"

namespace gemm_tune {

std::vector<WantedProblem> wanted_problems(const CalledProblems& called) {
  std::map<std::string, WantedProblem> by_text;
  const std::vector<double> costs = costs_of_calls(called.problems);
  for (std::size_t i = 0; i < costs.size(); ++i) {
    const CalledProblem& problem = called.problems[i];
    const std::int64_t calls = problem.served + problem.tunable;
    if (!problem.problem || calls == 0) continue;
    WantedProblem& wanted = by_text[problem.text];
    wanted.problem = *problem.problem;
    wanted.text = problem.text;
    wanted.calls += calls;
    wanted.flops += problem.flops * static_cast<double>(calls);
    wanted.cost += costs[i] * static_cast<double>(calls);
    if (problem.gpu_us)
      wanted.gpu_us = wanted.gpu_us.value_or(0) + *problem.gpu_us * static_cast<double>(calls);
  }
  std::vector<WantedProblem> all;
  for (auto& [text, wanted] : by_text) all.push_back(std::move(wanted));
  std::stable_sort(all.begin(), all.end(),
                   [](const WantedProblem& a, const WantedProblem& b) { return a.cost > b.cost; });
  return all;
}

std::string capture_text(const std::vector<WantedProblem>& wanted,
                         const std::string& command_line) {
  double all_flops = 0;
  for (const WantedProblem& problem : wanted) all_flops += problem.flops;
  std::string text = "# " + command_line + "\n";
  for (const WantedProblem& problem : wanted) {
    text += fmt::format("{}  # {}, {:.1f} % of the operations", problem.text,
                        counted(problem.calls, "call"), 100 * problem.flops / all_flops);
    if (problem.gpu_us) text += ", " + duration_text(*problem.gpu_us) + " of GPU time";
    text += "\n";
  }
  return text;
}

WeightedProblems weighted(const std::vector<WantedProblem>& wanted) {
  WeightedProblems all;
  for (const WantedProblem& one : wanted) {
    all.problems.push_back(one.problem);
    all.weights.push_back(one.cost);
  }
  return all;
}

}  // namespace gemm_tune
