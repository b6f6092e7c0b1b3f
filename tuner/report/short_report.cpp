// SPDX-License-Identifier: Apache-2.0
#include "tuner/report/short_report.h"

#include <spdlog/fmt/fmt.h>
#include <spdlog/fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/text/printable.h"
#include "core/text/quantity.h"
#include "tuner/report/report.h"
#include "tuner/report/summary.h"
#include "tuner/report/terminal.h"

namespace gemm_tune {
namespace {

constexpr std::size_t kIndent = 11;  // "  winner   "

// Three digits, because a rule rejects millions: "282 M", "553 k".
std::string short_count(std::uint64_t count) {
  if (count < 100'000) return grouped(count);
  if (count < 999'500) return fmt::format("{:.3g} k", static_cast<double>(count) * 1e-3);
  if (count >= 999'500'000) return grouped(count / 1'000'000) + " M";
  return fmt::format("{:.3g} M", static_cast<double>(count) * 1e-6);
}

// A report's items, the most important first.
class Page {
 public:
  explicit Page(const PageForm& form) : form_(form) {}

  void head(const std::string& text) { add(broken_lines(text, ' ', form_.columns, 2)); }

  // "  name     value", broken behind words. The name may be empty.
  void item(const std::string& name, const std::string& value) {
    add(broken_lines(fmt::format("  {:<9}{}", name, value), ' ', form_.columns, kIndent));
  }

  void config(const std::string& name, const std::string& text) {
    const std::string line = fmt::format("  {:<9}{}", name, text);
    add(form_.whole_configs ? std::vector{line} : broken_lines(line, ',', form_.columns, kIndent));
  }

  // If the items have too many lines, the last line counts those without room.
  std::string text() const {
    std::size_t all = 0, kept = 0, lines = 0;
    for (const auto& item : items_) all += item.size();
    const std::size_t room = all > kMostReportLines ? kMostReportLines - 1 : kMostReportLines;
    std::string text;
    for (; kept < items_.size() && lines + items_[kept].size() <= room; ++kept) {
      lines += items_[kept].size();
      for (const std::string& line : items_[kept]) text += line + "\n";
    }
    const std::size_t left_out = items_.size() - kept;
    if (left_out > 0) {
      text += fmt::format("  and      {} more {}: --why shows {}\n", left_out,
                          left_out == 1 ? "remark" : "remarks", left_out == 1 ? "it" : "them");
    }
    return text;
  }

 private:
  void add(std::vector<std::string> lines) { items_.push_back(std::move(lines)); }

  const PageForm& form_;
  std::vector<std::vector<std::string>> items_;  // the lines of each
};

// "1.171 of cublasSgemm 13.1.0 hot, 1.116 cold; error 1.95 of its".
std::string beside(const Outcome& outcome, const Baseline& baseline) {
  const Timing &ours = *outcome.timing, &theirs = baseline.timing;
  std::string text =
      fmt::format("{:.3f} of {} hot", theirs.median_us / ours.median_us, baseline.title());
  if (theirs.cold_us && ours.cold_us) {
    text += fmt::format(", {:.3f} cold", *theirs.cold_us / *ours.cold_us);
  }
  if (const auto ratio = error_ratio(outcome.error, baseline.error)) {
    text +=
        std::isfinite(*ratio) ? fmt::format("; error {:.3g} of its", *ratio) : "; its error is 0";
  }
  return text;
}

void add_winner(const ProblemReport& report, const Target& target, Page& page) {
  if (!report.winner) return page.item("winner", "none: " + why_none(report));
  const TuneWinner& winner = *report.winner;
  const std::optional<Timing>& timing = winner.outcome.timing;
  page.config("winner", config_text(winner));
  std::string time = time_text(report.problem, winner.outcome);
  if (!target.measurable) time += fmt::format(" ({})", kPredictedLabel);
  if (timing && timing->cold_us) time += "; cold " + duration_text(*timing->cold_us);
  page.item("time", time);
  if (!timing) return;
  if (report.kernel) {
    page.config("kernel", config_text(*report.kernel));
    page.item("its time", time_text(report.problem, report.kernel->outcome));
  }
  for (std::size_t i = 0; i < winner.baselines.size(); ++i) {
    page.item(i == 0 ? "speed" : "", beside(winner.outcome, winner.baselines[i]));
  }
  if (winner.baselines.empty() && winner.outcome.error) {
    page.item("error", fmt::format("{:.3g}", *winner.outcome.error));
  }
}

// What was never measured or executed on a GPU like the target: unmeasured_model() and
// unexecuted_kernels() in few words.
void add_honest_labels(const ProblemReport& report, const Target& target, Page& page) {
  const DeviceSpec& device = target.spec;
  std::vector<std::string> labels;
  if (!unmeasured_model(device).empty()) {
    labels.push_back(fmt::format("constants for {} never measured here", device.arch));
  }
  if (!target.measurable && !unexecuted_kernels(device).empty()) {
    labels.push_back(
        fmt::format("kernels compiled for {} and emulated, never executed on one", device.arch));
  }
  if (const std::string note = memory_note(report, target); !note.empty()) {
    page.item("memory", note);
  }
  if (!labels.empty()) page.item("model", fmt::format("{}", fmt::join(labels, "; ")));
}

std::string tried_text(const ProblemReport& report, const Target& target) {
  const Funnel& f = report.funnel;
  std::vector<std::string> parts = {
      fmt::format("{} {}", grouped(f.survived), target.measurable ? "timed" : "predicted")};
  const auto add = [&](std::uint64_t count, const char* what) {
    if (count > 0) parts.push_back(fmt::format("{} {}", grouped(count), what));
  };
  add(total(f.rejected_by_resources), "rejected by resources");
  add(total(f.compile_failed), "not compiled");
  add(total(f.failed_on_gpu), "failed on the GPU");
  add(total(f.failed_by_environment), "failed by environment, not stored");
  add(f.unfinished, "given up unfinished");
  const std::string algorithms =
      f.algorithms > 0 ? fmt::format(" and {} algorithms of libraries", grouped(f.algorithms)) : "";
  std::string text =
      fmt::format("{} of {} candidates, budget {}{}: {}", grouped(f.tried - f.algorithms),
                  grouped(f.left), grouped(report.budget), algorithms, fmt::join(parts, ", "));
  if (f.recalled > 0) text += fmt::format("; {} by earlier runs", grouped(f.recalled));
  if (report.target_met) text += "; the target is met";
  if (report.settled) text += "; more are not worth their cost";
  return text;
}

// The three commonest reasons of all steps, in two lines.
std::string rejections_text(const Funnel& funnel, const PageForm& form) {
  constexpr std::size_t kNamed = 3;
  std::vector<std::pair<std::uint64_t, std::string>> ordered;
  std::uint64_t all = 0;
  for (const Reasons* reasons :
       {&funnel.failed_by_environment, &funnel.failed_on_gpu, &funnel.compile_failed,
        &funnel.rejected_by_resources, &funnel.rejected_by_rule}) {
    all += total(*reasons);
    for (const auto& [reason, count] : *reasons) ordered.emplace_back(count, reason);
  }
  if (ordered.empty()) return "";
  std::stable_sort(ordered.begin(), ordered.end(),
                   [](const auto& a, const auto& b) { return a.first > b.first; });
  const std::size_t each = std::max<std::size_t>(form.columns * 2 / 3, 40) - 10;
  std::vector<std::string> named;
  for (std::size_t i = 0; i < std::min(kNamed, ordered.size()); ++i) {
    const auto& [count, reason] = ordered[i];
    const std::string first_line = printable(reason.substr(0, reason.find('\n')), kLongestQuote);
    const std::string cut = cut_to_columns(first_line, each);
    named.push_back(fmt::format("{} {}{}", short_count(count), cut,
                                cut.size() < first_line.size() ? "..." : ""));
  }
  return fmt::format("{}: {}", short_count(all), fmt::join(named, "; "));
}

void add_search(const ProblemReport& report, const Target& target, const PageForm& form,
                Page& page) {
  const Funnel& funnel = report.funnel;
  if (report.failure.empty()) page.item("tried", tried_text(report, target));
  if (const std::string text = rejections_text(funnel, form); !text.empty()) {
    page.item("rejected", text);
  }
  if (report.prior) page.item("prior", prior_text(*report.prior));
  if (report.expected_gain) {
    page.item("more", fmt::format("{} would likely gain {:.2g} %{}",
                                  counted(report.expected_gain->tries, "try", "tries"),
                                  100 * report.expected_gain->gain,
                                  target.measurable ? "" : fmt::format(" ({})", kPredictedLabel)));
  }
}

// What may make the reader doubt the times. Before the search's counts, because it matters more.
void add_doubts(const ProblemReport& report, Page& page) {
  const bool is_timed = report.winner && report.winner->outcome.timing;
  if (is_timed && !report.winner->outcome.timing->disturbance.empty()) {
    page.item("noise", printable(report.winner->outcome.timing->disturbance, kLongestQuote));
  }
  if (!report.others.empty()) {
    page.item("beside", fmt::format("{} on the GPU, which may have disturbed the times",
                                    fmt::join(report.others, ", ")));
  }
  if (is_timed && report.objective == Objective::cold) {
    page.item("", report.winner->outcome.timing->cold_us
                      ? "chosen by its cold time"
                      : "chosen by its hot time: cold operands cannot be rotated at this size");
  }
  if (report.error_limit && report.winner) {
    page.item("limit", error_limit_text(*report.error_limit));
  }
}

void add_remarks(const ProblemReport& report, const Target& target, Page& page) {
  const Funnel& funnel = report.funnel;
  if (funnel.searched < funnel.left) {
    page.item("sample", fmt::format("{} of the {} candidates were searched, an even sample",
                                    grouped(funnel.searched), grouped(funnel.left)));
  }
  for (const std::string& absent : report.absent_baselines) page.item("without", absent);
  if (report.stale > 0) {
    page.item("stale", fmt::format("{} of earlier runs: see gemm-tune db info",
                                   counted(report.stale, "row")));
  }
  if (!report.tied.empty()) {
    page.item("tied", fmt::format("with {} more: --why names them", report.tied.size()));
  }
  if (report.occupancy_disagreements > 0 && target.measurable) {
    page.item("driver", fmt::format("counts other CTAs per SM for {}",
                                    counted(report.occupancy_disagreements, "candidate")));
  }
}

}  // namespace

std::string short_text(const ProblemReport& report, const Target& target, const PageForm& form) {
  Page page(form);
  page.head(fmt::format("{} on {} ({}, {} SMs), {:.1f} s", to_string(report.problem),
                        printable(target.spec.name), target.spec.arch, target.spec.sm_count,
                        report.seconds));
  add_winner(report, target, page);
  if (report.failure.empty()) add_honest_labels(report, target, page);
  add_doubts(report, page);
  add_search(report, target, form, page);
  add_remarks(report, target, page);
  return page.text();
}

}  // namespace gemm_tune
