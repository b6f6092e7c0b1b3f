// SPDX-License-Identifier: Apache-2.0
#include "cli/speed_up/speed_up_text.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>

#include "choose/attainable_time.h"
#include "core/text/quantity.h"
#include "tuner/report/report.h"
#include "tuner/report/summary.h"

namespace gemm_tune {
namespace {

std::string time_or_dash(const std::optional<double>& us) {
  if (!us) return "-";
  return short_duration_text(*us);
}

std::string comparison_line(const char* what, const std::optional<double>& before_us,
                            const std::optional<double>& served_us) {
  if (!before_us && !served_us) return "";
  const std::string ratio = before_us && served_us && *served_us > 0
                                ? fmt::format("{:>8.3f}", *before_us / *served_us)
                                : "";
  return fmt::format("  {:<18}{:>12}{:>12}{}\n", what, time_or_dash(before_us),
                     time_or_dash(served_us), ratio);
}

}  // namespace

std::optional<double> gemm_us(const CalledProblems& called) {
  const std::vector<double> costs = costs_of_calls(called.problems);
  bool is_measured = false;
  double all = 0;
  for (std::size_t i = 0; i < costs.size(); ++i) {
    is_measured = is_measured || called.problems[i].gpu_us.has_value();
    all += costs[i] * static_cast<double>(called.problems[i].calls());
  }
  return is_measured ? std::optional(all) : std::nullopt;
}

std::int64_t calls_of(const CalledProblems& called) {
  std::int64_t all = 0;
  for (const CalledProblem& problem : called.problems) all += problem.calls();
  return all;
}

std::string products_text(const std::vector<WantedProblem>& wanted, const DeviceSpec& device) {
  constexpr std::size_t kShown = 8;
  double all_cost = 0, measured_us = 0, model_us = 0;
  for (const WantedProblem& one : wanted) all_cost += one.cost;
  std::string text =
      fmt::format("  {:>7}{:>10}{:>11}{:>11}  product\n", "share", "calls", "a call", "model");
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    const WantedProblem& one = wanted[i];
    const auto calls = static_cast<double>(one.calls);
    const std::optional<double> model = attainable_us(one.problem, device);
    if (one.gpu_us) {
      measured_us += *one.gpu_us;
      model_us += std::min(*one.gpu_us, model ? *model * calls : *one.gpu_us);
    }
    if (i >= kShown) continue;
    text += fmt::format(
        "  {:>5.1f} %{:>10}{:>11}{:>11}  {}\n", all_cost > 0 ? 100 * one.cost / all_cost : 0,
        grouped(static_cast<std::uint64_t>(one.calls)),
        time_or_dash(one.gpu_us ? std::optional(*one.gpu_us / calls) : std::nullopt),
        time_or_dash(model), one.text);
  }
  if (wanted.size() > kShown) text += fmt::format("  and {} more\n", wanted.size() - kShown);
  if (measured_us > 0) {
    text += fmt::format("  the static model expects {} of these {} (predicted, not timed)\n",
                        short_duration_text(model_us), short_duration_text(measured_us));
  }
  return text;
}

std::string found_text(const ProblemReport& report, bool is_measured) {
  if (!report.winner) return why_none(report);
  const bool is_library = report.winner->config.family->is_library();
  const TuneWinner* const kernel = !is_library     ? &*report.winner
                                   : report.kernel ? &*report.kernel
                                                   : nullptr;
  if (kernel == nullptr) return "no kernel; the library's own algorithm stays";
  const double us = kernel->outcome.deciding_us(report.objective).value_or(0);
  std::string text = short_duration_text(us);
  if (!is_measured) return text + fmt::format(" ({})", kPredictedLabel);
  if (const auto share = share_of(*kernel, report.winner->baselines, report.objective)) {
    text += fmt::format(", {:.3f} of {}", share->of_speed, share->name);
    if (share->of_speed < 1) text += ", which stays";
  }
  if (is_library) {
    text += fmt::format(
        "; the library's best {}",
        short_duration_text(report.winner->outcome.deciding_us(report.objective).value_or(0)));
  }
  return text;
}

std::string comparison_text(const ProgramTimes& before, const ProgramTimes& served) {
  const auto in_us = [](const std::optional<double>& seconds) {
    return seconds ? std::optional(*seconds * 1e6) : std::nullopt;
  };
  std::string text = fmt::format("  {:<18}{:>12}{:>12}\n", "", "before", "served");
  text += comparison_line("wall time", in_us(before.seconds), in_us(served.seconds));
  text += comparison_line("GPU time of GEMM", before.gemm_us, served.gemm_us);
  if (before.calls != served.calls) {
    text += fmt::format("  the program multiplied {} times before and {} times served\n",
                        grouped(static_cast<std::uint64_t>(before.calls)),
                        grouped(static_cast<std::uint64_t>(served.calls)));
  }
  return text;
}

}  // namespace gemm_tune
