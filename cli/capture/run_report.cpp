// SPDX-License-Identifier: Apache-2.0
#include "cli/capture/run_report.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "core/text/printable.h"
#include "core/text/quantity.h"
#include "tuner/report/report.h"

namespace gemm_tune {
namespace {

double percent(double part, double whole) { return whole > 0 ? 100 * part / whole : 0; }

// Calls, with what they count for.
struct Part {
  std::int64_t calls = 0;
  double flops = 0, cost = 0;

  void add(std::int64_t count, const CalledProblem& problem, double cost_of_call) {
    calls += count;
    flops += problem.flops * static_cast<double>(count);
    cost += cost_of_call * static_cast<double>(count);
  }
};

struct Declined {
  Part all;
  std::vector<std::pair<Part, std::string>> problems;
};

// What was called, served and left.
class Summary {
 public:
  Summary(const CalledProblems& called, std::size_t shown) : shown_(shown) {
    const std::vector<double> costs = costs_of_calls(called.problems);
    for (std::size_t i = 0; i < costs.size(); ++i) add(called.problems[i], costs[i]);
  }

  std::string text() const {
    std::string text = fmt::format("gemm-tune: served {} of {} of cuBLAS, {}\n",
                                   grouped(static_cast<std::uint64_t>(served_.calls)),
                                   counted(all_.calls, "call"), shares(served_));
    if (cublas_us_ > 0) {
      text += fmt::format(
          "  expected from the database: {} where cuBLAS takes {}, for {} of the served calls\n",
          duration_text(expected_us_), duration_text(cublas_us_), with_times_);
    }
    if (is_measured_ && unmeasured_.calls > 0) {
      text += fmt::format("  the GPU time of {} was not measured: operations count there\n",
                          counted(unmeasured_.calls, "call"));
    }
    for (const auto& [reason, declined] : declined_) text += declined_text(reason, declined);
    return text;
  }

 private:
  void add(const CalledProblem& problem, double cost) {
    all_.add(problem.calls(), problem, cost);
    served_.add(problem.served, problem, cost);
    if (problem.gpu_us) is_measured_ = true;
    if (!problem.gpu_us) unmeasured_.add(problem.calls(), problem, cost);
    if (problem.expected_us && problem.cublas_us) {
      const auto served = static_cast<double>(problem.served);
      with_times_ += problem.served;
      expected_us_ += *problem.expected_us * served;
      cublas_us_ += *problem.cublas_us * served;
    }
    for (const auto& [reason, count] : problem.declined) {
      Part part;
      part.add(count, problem, cost);
      declined_[reason].all.add(count, problem, cost);
      declined_[reason].problems.emplace_back(
          part, printable(problem.function) + " " + printable(problem.text));
    }
  }

  std::string shares(const Part& part) const {
    std::string text = fmt::format("{:.1f} % of their operations", percent(part.flops, all_.flops));
    if (is_measured_) {
      text += fmt::format(" and {:.1f} % of their GPU time", percent(part.cost, all_.cost));
    }
    return text;
  }

  std::string declined_text(const std::string& reason, Declined declined) const {
    std::stable_sort(declined.problems.begin(), declined.problems.end(),
                     [](const auto& a, const auto& b) { return a.first.cost > b.first.cost; });
    std::string text = fmt::format("  left to cuBLAS {}, {}: {}\n", declined.all.calls,
                                   shares(declined.all), printable(reason));
    for (std::size_t i = 0; i < std::min(shown_, declined.problems.size()); ++i) {
      const auto& [part, problem] = declined.problems[i];
      text += fmt::format(
          "    {}: {}, {:.1f} %\n", problem, part.calls,
          is_measured_ ? percent(part.cost, all_.cost) : percent(part.flops, all_.flops));
    }
    if (declined.problems.size() > shown_) {
      text += fmt::format("    and {} more, which --report FILE lists\n",
                          declined.problems.size() - shown_);
    }
    return text;
  }

  std::size_t shown_;
  Part all_, served_, unmeasured_;
  bool is_measured_ = false;                // whether GPU time is known at all
  std::int64_t with_times_ = 0;             // served calls whose times the database has
  double expected_us_ = 0, cublas_us_ = 0;  // of those calls, by the database
  std::map<std::string, Declined> declined_;
};

}  // namespace

std::string run_report(const CalledProblems& called, const std::string& why_unseen,
                       std::size_t shown) {
  if (called.problems.empty()) {
    return "gemm-tune: no call of cuBLAS was seen" + why_unseen + "\n";
  }
  std::string text = Summary(called, shown).text();
  for (const std::string& error : called.errors) text += "  " + printable(error) + "\n";
  return text;
}

}  // namespace gemm_tune
