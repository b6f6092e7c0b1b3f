// SPDX-License-Identifier: Apache-2.0
#include "tuner/report/summary.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>
#include <utility>

#include "core/text/printable.h"
#include "core/text/quantity.h"
#include "tuner/plan/filter.h"
#include "tuner/report/report.h"

namespace gemm_tune {
namespace {

// The most frequent failure among the candidates that passed the rules; if none passed, the most
// frequent rejection of those that came furthest. Empty if there is neither, though something was
// enumerated.
std::string commonest_reason(const Funnel& funnel) {
  const std::array<const Reasons*, 4> later = {&funnel.compile_failed,
                                               &funnel.rejected_by_resources, &funnel.failed_on_gpu,
                                               &funnel.failed_by_environment};
  const std::pair<const std::string, std::uint64_t>* most = nullptr;
  const auto look = [&](const Reasons& reasons) {
    for (const auto& reason : reasons) {
      if (most == nullptr || reason.second > most->second) most = &reason;
    }
  };
  for (const Reasons* reasons : later) look(*reasons);
  if (funnel.left == 0) {
    look(funnel.decisive.empty() ? funnel.rejected_by_rule : funnel.decisive);
  }
  if (most == nullptr && funnel.enumerated == 0) {
    return ": no family that is tried has kernels of these types";
  }
  if (most == nullptr) return "";
  const std::string_view reason = most->first;
  const bool by_rule = funnel.left == 0;
  return fmt::format(": {} ({} of {} {})",
                     printable(reason.substr(0, reason.find('\n')), kLongestQuote),
                     grouped(most->second), grouped(by_rule ? funnel.enumerated : funnel.tried),
                     by_rule ? "enumerated" : "tried");
}

}  // namespace

std::optional<Share> share_of(const TuneWinner& timed, const std::vector<Baseline>& baselines,
                              Objective objective) {
  if (!timed.outcome.timing || baselines.empty()) return std::nullopt;
  const bool by_cold = objective == Objective::cold && timed.outcome.timing->cold_us;
  const auto us = [&](const Timing& timing) {
    return by_cold ? timing.cold_us.value_or(timing.median_us) : timing.median_us;
  };
  const auto fastest =
      std::min_element(baselines.begin(), baselines.end(),
                       [&](const auto& a, const auto& b) { return us(a.timing) < us(b.timing); });
  return Share{us(fastest->timing) / us(*timed.outcome.timing), fastest->name};
}

std::string why_none(const ProblemReport& report) {
  const bool has_reasons =
      report.failure.empty() && (report.cut_short == CutShort::no || report.funnel.enumerated > 0);
  return why_no_winner(report) + (has_reasons ? commonest_reason(report.funnel) : "");
}

std::string why_none_left(const Funnel& funnel) {
  return "no candidate is left" + commonest_reason(funnel);
}

std::string result_line(const ProblemReport& report, const Target& target) {
  std::string text = to_string(report.problem) + "  ";
  if (!report.winner) return text + why_none(report);
  const double time_us = report.winner->outcome.deciding_us(report.objective).value_or(0);
  text += fmt::format("{}  {}  {}", to_string(report.winner->config.config()),
                      duration_text(time_us), tflops_text(report.problem, time_us));
  if (!target.measurable) {
    const bool measured = unmeasured_model(target.spec).empty();
    const std::string memory = memory_note(report, target);
    return text + fmt::format("  ({}{}{})", kPredictedLabel,
                              measured ? "" : "; model never measured on " + target.spec.arch,
                              memory.empty() ? "" : "; " + memory);
  }
  const std::optional<Share> share =
      share_of(*report.winner, report.winner->baselines, report.objective);
  return share ? text + fmt::format("  {:.3f} of {}", share->of_speed,
                                    share->name.substr(0, share->name.find(' ')))
               : text;
}

std::string results_table(const std::vector<ProblemReport>& reports, const Target& target) {
  std::size_t width = 0;
  for (const ProblemReport& report : reports) {
    width = std::max(width, to_string(report.problem).size());
  }
  std::string text = fmt::format("{} on {} ({}){}\n", counted(std::size(reports), "problem"),
                                 printable(target.spec.name), target.spec.arch,
                                 target.measurable ? "" : fmt::format(", {}", kPredictedLabel));
  text += fmt::format("{:<{}}  {:<13}  {:>10}  {:>7}{}\n", "problem", width, "family", "us",
                      "TFLOP/s", target.measurable ? "  of cuBLAS" : "");
  for (const ProblemReport& report : reports) {
    text += fmt::format("{:<{}}  ", to_string(report.problem), width);
    if (!report.winner) {
      text += why_no_winner(report) + "\n";
      continue;
    }
    const double time_us = report.winner->outcome.deciding_us(report.objective).value_or(0);
    std::string tflops = tflops_text(report.problem, time_us);
    tflops = tflops.substr(0, tflops.find(' '));
    const std::string us =
        time_us < 1e5 ? fmt::format("{:.5g}", time_us) : fmt::format("{:.0f}", time_us);
    text += fmt::format("{:<13}  {:>10}  {:>7}", report.winner->config.family->name, us, tflops);
    if (const auto share = share_of(*report.winner, report.winner->baselines, report.objective))
      text += fmt::format("  {:>9.3f}", share->of_speed);
    text += "\n";
  }
  return text;
}

}  // namespace gemm_tune
