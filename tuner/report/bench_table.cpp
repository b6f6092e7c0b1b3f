// SPDX-License-Identifier: Apache-2.0
#include "tuner/report/bench_table.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>

#include "tuner/measure/baseline_kind.h"
#include "tuner/report/problem_json.h"
#include "tuner/report/report.h"
#include "tuner/report/terminal.h"
#include "tuner/work/protocol.h"

namespace gemm_tune {
namespace {

constexpr Objective kBoth[] = {Objective::hot, Objective::cold};

constexpr std::string_view name_of(Objective operands) {
  return operands == Objective::hot ? "hot" : "cold";
}

constexpr std::size_t kColumns = 80, kProblem = 24;

std::optional<double> time_of(const Timing& timing, Objective operands) {
  return operands == Objective::hot ? std::optional(timing.median_us) : timing.cold_us;
}

// The time of the row's fastest baseline of a kind.
std::optional<double> baseline_us(const BenchRow& row, BaselineKind kind, Objective operands) {
  std::optional<double> least;
  for (const Baseline& baseline : row.baselines) {
    const std::optional<double> us = time_of(baseline.timing, operands);
    if (kind_of(baseline.name) == kind && us) least = std::min(least.value_or(*us), *us);
  }
  return least;
}

std::optional<double> our_us(const BenchRow& row, Objective operands) {
  return row.outcome.timing ? time_of(*row.outcome.timing, operands) : std::nullopt;
}

std::optional<double> ratio(const std::optional<double>& theirs,
                            const std::optional<double>& ours) {
  return theirs && ours ? std::optional(*theirs / *ours) : std::nullopt;
}

std::optional<double> speedup(const BenchRow& row, BaselineKind kind, Objective operands) {
  return ratio(baseline_us(row, kind, operands), our_us(row, operands));
}

// Over the faster of cuBLAS and cublasLt; nothing where one of them was not timed.
std::optional<double> over_better(const BenchRow& row, Objective operands) {
  const auto one = speedup(row, BaselineKind::cublas, operands);
  const auto other = speedup(row, BaselineKind::cublas_lt, operands);
  return one && other ? std::optional(std::min(*one, *other)) : std::nullopt;
}

template <class Of>
std::optional<double> geometric_mean(const std::vector<BenchRow>& rows, Of of) {
  double sum = 0;
  int count = 0;
  for (const BenchRow& row : rows) {
    const std::optional<double> value = of(row);
    if (!value) continue;
    sum += std::log(*value);
    ++count;
  }
  return count > 0 ? std::optional(std::exp(sum / count)) : std::nullopt;
}

std::string ratio_text(const std::optional<double>& value) {
  if (!value) return fmt::format("{:>9} ", "-");
  return fmt::format("{:>9.3f}{}", *value, *value < 1 ? '<' : ' ');
}

std::string line_of(std::string_view name, const BenchRow& row, Objective operands) {
  const std::optional<double> us = our_us(row, operands);
  std::string line = fmt::format("{:<{}}{:<5}", name, kProblem, name_of(operands));
  if (!us) return line + "        -\n";
  const double tflops = flops(row.what.problem) / *us * 1e-6;
  line += *us < 1e5 ? fmt::format("{:>10.5g}", *us) : fmt::format("{:>10.0f}", *us);
  line += fmt::format("{:>9.4g}", tflops);
  for (const BaselineKind kind : kBaselineKinds) line += ratio_text(speedup(row, kind, operands));
  line.erase(line.find_last_not_of(' ') + 1);
  return line + "\n";
}

std::string mean_line(const std::vector<BenchRow>& rows, Objective operands) {
  std::string line =
      fmt::format("{:<{}}{:<5}{:>19}", "geometric mean", kProblem, name_of(operands), "");
  for (const BaselineKind kind : kBaselineKinds) {
    line += ratio_text(
        geometric_mean(rows, [&](const BenchRow& row) { return speedup(row, kind, operands); }));
  }
  line.erase(line.find_last_not_of(' ') + 1);
  return line + "\n";
}

std::string paragraph(const std::string& text) {
  std::string lines;
  for (const std::string& line : broken_lines(text, ' ', kColumns, 2)) lines += line + "\n";
  return lines;
}

}  // namespace

std::string bench_head() {
  return fmt::format("{:<{}}{:<5}{:>10}{:>9}{:>9} {:>9} {:>9}\n", "problem", kProblem, "", "us",
                     "TFLOP/s", "/cublas", "/cublasLt", "/autotuned");
}

std::string bench_lines(const BenchRow& row) {
  const std::string problem = to_string(row.what.problem);
  if (!row.what.config) {
    return paragraph(problem + "  not tuned: gemm-tune --sizes " + problem);
  }
  const bool is_long = problem.size() >= kProblem;
  return (is_long ? problem + "\n" : "") + line_of(is_long ? "" : problem, row, Objective::hot) +
         line_of("", row, Objective::cold);
}

std::string bench_end(const std::vector<BenchRow>& rows) {
  std::string text = mean_line(rows, Objective::hot) + mean_line(rows, Objective::cold);
  std::set<std::string> names, absent, others;
  for (const BenchRow& row : rows) {
    for (const Baseline& baseline : row.baselines) {
      names.insert(baseline.title());
    }
    absent.insert(row.absent.begin(), row.absent.end());
    others.insert(row.others.begin(), row.others.end());
  }
  for (const Objective operands : kBoth) {
    const auto better = [&](const BenchRow& row) { return over_better(row, operands); };
    const std::optional<double> mean = geometric_mean(rows, better);
    if (!mean) continue;
    const auto known = std::count_if(rows.begin(), rows.end(),
                                     [&](const BenchRow& row) { return better(row).has_value(); });
    const auto lost = std::count_if(
        rows.begin(), rows.end(), [&](const BenchRow& row) { return better(row).value_or(1) < 1; });
    text += fmt::format("over the better of cublas and cublasLt, {}: {:.3f}; behind at {} of {}\n",
                        name_of(operands), *mean, lost, known);
  }
  std::string list;
  for (const std::string& name : names) list += (list.empty() ? "" : ", ") + name;
  if (!list.empty()) text += paragraph("beside: " + list);
  for (const std::string& why : absent) text += paragraph("without: " + why);
  for (const std::string& who : others) {
    text += paragraph("another process computed on the GPU: " + who);
  }
  return text;
}

nlohmann::json bench_json(const std::vector<BenchRow>& rows) {
  nlohmann::json list = nlohmann::json::array();
  for (const BenchRow& row : rows) {
    nlohmann::json json = time_json(row.outcome, row.baselines, {});
    json.erase("tied");
    json["problem"] = row.what.problem;
    json["config"] = nullptr;
    if (row.what.config) json["config"] = to_string(row.what.config->config());
    json["absent_baselines"] = row.absent;
    json["others"] = row.others;
    list.push_back(std::move(json));
  }
  nlohmann::json means;
  for (const Objective operands : kBoth) {
    nlohmann::json& of = means[std::string(name_of(operands))];
    const auto add = [&](std::string_view name, auto value) {
      const std::optional<double> mean = geometric_mean(rows, value);
      of[std::string(name)] = mean ? nlohmann::json(*mean) : nlohmann::json();
    };
    for (const BaselineKind kind : kBaselineKinds) {
      add(to_string(kind), [&](const BenchRow& row) { return speedup(row, kind, operands); });
    }
    add("better", [&](const BenchRow& row) { return over_better(row, operands); });
  }
  return {{"rows", list}, {"geometric_means", means}};
}

}  // namespace gemm_tune
