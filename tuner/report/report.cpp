// SPDX-License-Identifier: Apache-2.0
#include "tuner/report/report.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "core/text/printable.h"
#include "core/text/quantity.h"
#include "search/model/machine_profile.h"
#include "tuner/plan/plan.h"

namespace gemm_tune {
namespace {

void add_count(std::string& text, const std::string& name, std::uint64_t count,
               const std::string& note = "") {
  text +=
      fmt::format("  {:<24}{:>12}{}{}\n", name, grouped(count), note.empty() ? "" : "   ", note);
}

void add_reasons(std::string& text, const std::string& name, const Reasons& reasons) {
  if (reasons.empty()) return;
  add_count(text, name, total(reasons));
  std::vector<std::pair<std::string, std::uint64_t>> ordered(reasons.begin(), reasons.end());
  std::stable_sort(ordered.begin(), ordered.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  for (const auto& [reason, count] : ordered) {
    text += fmt::format("    {:>12}  {}\n", grouped(count), reason);
  }
}

// The unit in which a time has few digits, in us.
struct TimeUnit {
  double us;
  const char* name;
};

TimeUnit unit_of(double us) {
  if (us < 1e5) return {1, "us"};
  return us < 1e7 ? TimeUnit{1e3, "ms"} : TimeUnit{1e6, "s"};
}

// "; cublasSgemm 55.7 us, 38.5 TFLOP/s: 0.884 of its speed", for a kernel that takes time_us.
// Further baselines follow on lines of their own. baseline_us: of the baseline, if known.
template <class TimeOf>
std::string beside_text(const Problem& problem, const std::vector<Baseline>& baselines,
                        const TimeOf& baseline_us, double time_us, const std::string& indent) {
  std::string text, separator = "; ";
  for (const Baseline& baseline : baselines) {
    const std::optional<double> us = baseline_us(baseline.timing);
    if (!us) continue;
    text += fmt::format("{}{} {}, {}: {:.3f} of its speed", separator, to_string(baseline),
                        duration_text(*us), tflops_text(problem, *us), *us / time_us);
    separator = ";\n" + indent + "  ";
  }
  return text;
}

std::optional<double> hot_us(const Timing& timing) { return timing.median_us; }
std::optional<double> cold_us(const Timing& timing) { return timing.cold_us; }

std::string none_within(const ErrorLimit& limit) {
  const std::string text = fmt::format("no candidate is within --max-error {:g}: ", limit.ratio);
  if (!limit.least) return text + "no error is known";
  if (std::isinf(*limit.least)) return text + "cuBLAS's error is 0, and no candidate's is";
  return text + fmt::format("the least error is {:.3g} of cuBLAS's", *limit.least);
}

// "error 2.38e-07: 1.95 of cublasSgemm 13.1.0's".
std::string error_text(double error, const std::vector<Baseline>& baselines) {
  std::string text = fmt::format("error {:.3g}", error), separator = ": ";
  for (const Baseline& baseline : baselines) {
    const auto ratio = error_ratio(error, baseline.error);
    if (!ratio) continue;
    text += std::isfinite(*ratio)
                ? fmt::format("{}{:.3g} of {}'s", separator, *ratio, to_string(baseline))
                : fmt::format("{}{}'s is 0", separator, to_string(baseline));
    separator = ", ";
  }
  return text;
}

std::string cold_decides_text(const Outcome& outcome) {
  const bool has_cold = outcome.timing && outcome.timing->cold_us;
  return has_cold ? "by its cold time\n"
                  : "by its hot time: cold operands are too small or too large to be rotated\n";
}

// What is to be known of the model, of the search and of the finals beside the winner.
std::string search_text(const ProblemReport& report, const Target& target) {
  std::string text;
  if (report.prior) text += "  prior    " + prior_text(*report.prior) + "\n";
  if (const std::string note = unmeasured_model(target.spec); !note.empty()) {
    text += "  model    " + note + "\n";
  }
  if (const std::string note = unexecuted_kernels(target.spec);
      !note.empty() && !target.measurable) {
    text += "  kernels  " + note + "\n";
  }
  if (report.funnel.tried > report.funnel.recalled) {
    text += fmt::format("  busy     compile processes {:.0f} %", 100 * report.compilers_busy);
    if (target.measurable) text += fmt::format(", GPU {:.0f} %", 100 * report.measurers_busy);
    text += "\n";
  }
  if (report.funnel.tried > 0) {
    text += fmt::format("  spent    {} of {} tries, {:.1f} s{}\n", grouped(report.funnel.tried),
                        grouped(report.budget), report.seconds,
                        report.target_met ? ": the target is met"
                        : report.settled  ? ": more tries are not worth their cost"
                                          : "");
  }
  if (report.expected_gain) {
    text += fmt::format("  more     {} would likely gain {:.2g} %{}\n",
                        counted(report.expected_gain->tries, "try", "tries"),
                        100 * report.expected_gain->gain,
                        target.measurable ? "" : fmt::format(" ({})", kPredictedLabel));
  }
  for (const std::string& absent : report.absent_baselines) {
    text += "  without the baseline " + absent + "\n";
  }
  for (const std::string& other : report.others) {
    text += "  also on the GPU: " + other + ", which may have disturbed the times\n";
  }
  return text;
}

std::string winner_text(const ProblemReport& report, const Target& target) {
  const TuneWinner& winner = *report.winner;
  const std::string indent(11, ' ');
  std::string text = "  winner   " + config_text(winner) + "\n";
  if (report.objective == Objective::cold) text += indent + cold_decides_text(winner.outcome);
  text += indent + time_text(report.problem, winner.outcome);
  if (!target.measurable) return text + fmt::format(" ({})\n", kPredictedLabel);
  text += baselines_text(report.problem, winner.outcome, winner.baselines, indent) + "\n";
  text += measured_details(report.problem, winner.outcome, winner.baselines, texts_of(report.tied),
                           indent);
  text += indent + "verified at small, ragged and tuned shapes";
  const bool has_specialisations =
      report.specialisations_verified && !winner.config.family->is_library();
  text += has_specialisations ? ", its predicated specialisations too\n" : "\n";
  if (report.kernel) {
    text += "  kernel   " + config_text(*report.kernel) + "\n" + indent +
            time_text(report.problem, report.kernel->outcome) + ", the best of kernels\n";
  }
  return text;
}

}  // namespace

std::string unmeasured_model(const DeviceSpec& device) {
  if (machine_profile(device.arch).measured_on) return "";
  return fmt::format(
      "the model's constants for {} come from data sheets, or are those of sm_90: never measured "
      "here",
      device.arch);
}

std::string unexecuted_kernels(const DeviceSpec& device) {
  if (machine_profile(device.arch).measured_on) return "";
  return fmt::format("compiled for {} and emulated by the project's tests, never executed on one",
                     device.arch);
}

std::uint64_t total(const Reasons& reasons) {
  std::uint64_t sum = 0;
  for (const auto& [reason, count] : reasons) sum += count;
  return sum;
}

std::string duration_text(double us) {
  const TimeUnit unit = unit_of(us);
  return fmt::format("{:.5g} {}", us / unit.us, unit.name);
}

std::string tflops_text(const Problem& problem, double time_us) {
  if (flops(problem) == 0 || time_us <= 0) return "-";
  return fmt::format("{:.3g} TFLOP/s", flops(problem) / time_us * 1e-6);
}

std::string funnel_text(const Funnel& funnel, bool measured) {
  std::string text;
  add_count(text, "enumerated", funnel.enumerated);
  add_reasons(text, "rejected by rule", funnel.rejected_by_rule);
  add_count(text, "left", funnel.left);
  if (funnel.searched < funnel.left) {
    add_count(text, "of these searched", funnel.searched, "an even sample: too many to keep");
  }
  const std::uint64_t compiled = funnel.tried - funnel.algorithms;
  const double share =
      funnel.left == 0 ? 0 : 100 * static_cast<double>(compiled) / static_cast<double>(funnel.left);
  add_count(text, "tried (compiled)", compiled, fmt::format("{:.3g} % of those left", share));
  if (funnel.algorithms > 0) add_count(text, "of libraries", funnel.algorithms, "tried, too");
  if (funnel.recalled > 0) {
    text +=
        fmt::format("    {:>12}  by earlier runs, from the database\n", grouped(funnel.recalled));
  }
  add_reasons(text, "compile failed", funnel.compile_failed);
  add_reasons(text, "rejected by resources", funnel.rejected_by_resources);
  add_reasons(text, "failed on the GPU", funnel.failed_on_gpu);
  add_reasons(text, "failed by environment", funnel.failed_by_environment);
  if (!funnel.failed_by_environment.empty()) {
    text += "                  these are not stored: the next run tries them again\n";
  }
  if (funnel.retried > 0) {
    add_count(text, "tried once more", funnel.retried,
              "a worker was killed or stopped from outside, or had no memory");
  }
  if (funnel.unfinished > 0) add_count(text, "given up unfinished", funnel.unfinished);
  add_count(text, measured ? "verified and timed" : "predicted", funnel.survived);
  return text;
}

std::string why_no_winner(const ProblemReport& report) {
  if (!report.failure.empty()) return report.failure;
  if (report.error_limit && report.funnel.survived > 0) return none_within(*report.error_limit);
  if (report.cut_short == CutShort::no) return "no candidate survived";
  const std::string end =
      report.cut_short == CutShort::by_time_limit ? "the time ran out" : "the run was interrupted";
  if (report.funnel.tried == report.funnel.unfinished) return end + " before a candidate was tried";
  return "no candidate survived before " + end;
}

std::string prior_text(const std::vector<PriorSource>& timings) {
  constexpr std::size_t kNamed = 3;
  std::string text = "static model";
  for (std::size_t i = 0; i < std::min(kNamed, timings.size()); ++i) {
    const PriorSource& one = timings[i];
    const std::string where =
        one.device ? "on " + printable(*one.device) : "at " + to_string(one.problem);
    text += fmt::format("{} {}{} {}", i == 0 ? ", and" : ",", grouped(one.count),
                        i == 0 ? " timings" : "", where);
  }
  std::uint64_t others = 0;
  for (std::size_t i = kNamed; i < timings.size(); ++i) others += timings[i].count;
  if (others > 0) text += " and " + grouped(others) + " elsewhere";
  return text;
}

std::string error_limit_text(const ErrorLimit& limit) {
  return fmt::format("errors within {:g} of cuBLAS's: {} faster candidates passed over",
                     limit.ratio, grouped(limit.passed_over));
}

std::string memory_note(const ProblemReport& report, const Target& target) {
  return target.measurable ? "" : beyond_memory(report.problem, target.spec);
}

std::string problem_text(const ProblemReport& report, const Target& target) {
  std::string text = fmt::format("{} on {} ({}, {} SMs), {:.1f} s\n", to_string(report.problem),
                                 printable(target.spec.name), target.spec.arch,
                                 target.spec.sm_count, report.seconds);
  text += funnel_text(report.funnel, target.measurable);
  if (report.occupancy_disagreements > 0) {
    text += fmt::format("  CTAs per SM differ from the driver's for {}\n",
                        counted(report.occupancy_disagreements, "candidate"));
  }
  if (report.stale > 0) {
    text += fmt::format("  stale    {} of earlier runs: see gemm-tune db info\n",
                        counted(report.stale, "row"));
  }
  if (!report.failure.empty()) return text + "  " + report.failure + "\n";
  if (const std::string note = memory_note(report, target); !note.empty()) {
    text += "  memory   " + note + "\n";
  }
  text += search_text(report, target);
  if (!report.winner) return text + "  " + why_no_winner(report) + "\n";
  if (report.error_limit) {
    text += "  limit    " + error_limit_text(*report.error_limit) + "\n";
  }
  return text + winner_text(report, target);
}

std::string config_text(const TuneWinner& winner) {
  const KernelFamily& family = *winner.config.family;
  const std::string text = to_string(winner.config.config());
  return family.is_library()
             ? fmt::format("{}  ({} {})", text, family.library, winner.library_version)
             : text;
}

std::optional<Interval> interval_of(const Outcome& outcome) {
  constexpr std::size_t kFewest = 6;
  if (!outcome.timing || outcome.timing->samples_us.size() < kFewest) return std::nullopt;
  return median_interval(outcome.timing->samples_us);
}

std::vector<std::string> texts_of(const std::vector<TuneWinner>& winners) {
  std::vector<std::string> texts;
  for (const TuneWinner& one : winners) texts.push_back(to_string(one.config.config()));
  return texts;
}

std::string time_text(const Problem& problem, const Outcome& outcome) {
  const double time_us = outcome.time_us().value_or(0);
  std::string text = duration_text(time_us);
  if (const auto interval = interval_of(outcome)) {
    const TimeUnit unit = unit_of(time_us);
    text +=
        fmt::format(" (95 %: {:.5g} to {:.5g})", interval->low / unit.us, interval->high / unit.us);
  }
  return text + ", " + tflops_text(problem, time_us);
}

std::string baselines_text(const Problem& problem, const Outcome& outcome,
                           const std::vector<Baseline>& baselines, const std::string& indent) {
  if (!outcome.timing) return "";
  return beside_text(problem, baselines, hot_us, outcome.timing->median_us, indent);
}

std::string measured_details(const Problem& problem, const Outcome& outcome,
                             const std::vector<Baseline>& baselines,
                             const std::vector<std::string>& tied, const std::string& indent) {
  constexpr std::size_t kNamed = 5;
  std::string text;
  if (!outcome.timing) return text;
  if (const auto cold = outcome.timing->cold_us) {
    text += fmt::format("{}cold {}, {}", indent, duration_text(*cold), tflops_text(problem, *cold));
    text += beside_text(problem, baselines, cold_us, *cold, indent) + "\n";
  }
  if (outcome.error) text += indent + error_text(*outcome.error, baselines) + "\n";
  for (std::size_t i = 0; i < std::min(kNamed, tied.size()); ++i) {
    text += indent + (i == 0 ? "tied with: " : "           ") + tied[i] + "\n";
  }
  if (tied.size() > kNamed) {
    text += fmt::format("{}           and {} more\n", indent, tied.size() - kNamed);
  }
  if (!outcome.timing->disturbance.empty()) {
    text += indent + "disturbed: " + outcome.timing->disturbance + "\n";
  }
  return text;
}

std::string card_note(const Target& target) {
  if (!target.stands_for_arch) return "";
  return fmt::format(
      "{} stands for its typical card, {} with {} SMs:\n  --gpu names another, as in --gpu \"RTX "
      "3090\"\n",
      target.spec.arch, printable(target.spec.name), target.spec.sm_count);
}

std::string how_to_time(const Target& target, const std::string& command_line) {
  return card_note(target) +
         fmt::format("{}: {}\nto time them, run on a machine with an {} GPU:\n  {}\n",
                     kPredictedLabel, target.why_not, target.spec.arch, command_line);
}

}  // namespace gemm_tune
