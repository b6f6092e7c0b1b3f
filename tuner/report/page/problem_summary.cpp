// SPDX-License-Identifier: Apache-2.0
#include "tuner/report/page/problem_summary.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <set>
#include <tuple>

#include "core/text/printable.h"
#include "kernel_templates/registry/registry.h"

namespace gemm_tune {
namespace {

using Candidate = ProblemRows::Candidate;

// Of "2026-11-21T12:53:42.250Z", from the epoch.
std::optional<double> seconds_of(const std::string& utc) {
  int year = 0, month = 0, day = 0, hour = 0, minute = 0;
  double second = 0;
  if (std::sscanf(utc.c_str(), "%4d-%2d-%2dT%2d:%2d:%lf", &year, &month, &day, &hour, &minute,
                  &second) != 6) {
    return std::nullopt;
  }
  const std::chrono::year_month_day date{std::chrono::year(year),
                                         std::chrono::month(static_cast<unsigned>(month)),
                                         std::chrono::day(static_cast<unsigned>(day))};
  if (!date.ok()) return std::nullopt;
  const auto days = std::chrono::sys_days(date).time_since_epoch();
  return 86400.0 * static_cast<double>(days.count()) + 3600.0 * hour + 60.0 * minute + second;
}

// The reasons of failures with their counts, the commonest first. Reasons that differ in numbers
// only count as one, of which the first is shown.
nlohmann::json reasons_of(const std::vector<Candidate>& candidates) {
  constexpr std::size_t kShown = 6;
  struct Alike {
    std::string example;
    std::size_t count = 0;
    bool differ = false;
  };
  std::map<std::pair<Disposition, std::string>, Alike> groups;
  for (const Candidate& one : candidates) {
    if (one.disposition == Disposition::ok) continue;
    const std::string text = short_text(one.reason);
    std::string pattern;
    for (const char c : text) {
      const bool digit = c >= '0' && c <= '9';
      if (!digit) pattern += c;
      if (digit && !pattern.ends_with('#')) pattern += '#';
    }
    Alike& alike = groups[{one.disposition, pattern}];
    if (alike.count++ == 0) alike.example = text;
    alike.differ = alike.differ || alike.example != text;
  }
  std::vector<std::pair<Disposition, Alike>> ordered;
  for (auto& [key, alike] : groups) ordered.emplace_back(key.first, std::move(alike));
  std::stable_sort(ordered.begin(), ordered.end(),
                   [](const auto& a, const auto& b) { return a.second.count > b.second.count; });
  nlohmann::json shown = nlohmann::json::array();
  for (std::size_t i = 0; i < std::min(kShown, ordered.size()); ++i) {
    const auto& [disposition, alike] = ordered[i];
    shown.push_back({to_string(disposition), alike.example, alike.count, alike.differ});
  }
  return shown;
}

// Each improvement: attempt, seconds, time.
nlohmann::json steps_of(const std::vector<Candidate>& candidates, bool has_clock) {
  nlohmann::json steps = nlohmann::json::array();
  double best = 0;
  for (const Candidate& one : candidates) {
    if (!one.first_us || (!steps.empty() && *one.first_us >= best)) continue;
    best = *one.first_us;
    steps.push_back({one.attempt,
                     has_clock ? nlohmann::json(rounded(one.seconds)) : nlohmann::json(),
                     rounded(best)});
  }
  constexpr std::size_t kShown = 400;
  nlohmann::json shown = nlohmann::json::array();
  for (const std::size_t i : thinned(steps.size(), kShown)) shown.push_back(steps[i]);
  return shown;
}

// The value of the parameter that is this trait; nothing for a family that has none or is unknown.
std::optional<int> value_of(const Config& config, int Traits::*trait) {
  const KernelFamily* const family = find_family(config.family);
  if (family == nullptr) return std::nullopt;
  const std::optional<std::size_t> param = family->find_trait(trait);
  return param ? config.get(family->params[*param].name) : std::nullopt;
}

// For each pair of values of two traits: the values, the best time, the number of configs.
nlohmann::json best_times(const std::vector<SummaryPoint>& points,
                          const std::vector<Config>& configs, int Traits::*first,
                          int Traits::*second) {
  std::map<std::pair<int, int>, std::pair<double, std::size_t>> cells;
  for (const SummaryPoint& point : points) {
    const std::optional<int> x = value_of(configs[point.config], first);
    const std::optional<int> y = value_of(configs[point.config], second);
    if (!x || !y) continue;
    auto& [best, count] = cells.try_emplace({*x, *y}, point.us, 0).first->second;
    best = std::min(best, point.us);
    ++count;
  }
  constexpr std::size_t kMostCells = 256;  // any value may stand in a file from elsewhere
  nlohmann::json rows = nlohmann::json::array();
  for (const auto& [key, cell] : cells) {
    if (rows.size() == kMostCells) break;
    rows.push_back({key.first, key.second, rounded(cell.first), cell.second});
  }
  return rows;
}

// For each parameter that varies: name, explained share, number of values, number of configs. The
// family counts as a parameter.
nlohmann::json shares_of(const std::vector<SummaryPoint>& points,
                         const std::vector<Config>& configs) {
  std::map<std::string, std::vector<std::pair<int, double>>> samples;
  std::map<std::string, int> families;
  for (const SummaryPoint& point : points) {
    const Config& config = configs[point.config];
    const int family =
        families.try_emplace(config.family, static_cast<int>(families.size())).first->second;
    samples["family"].emplace_back(family, point.us);
    for (const auto& [name, value] : config.params) samples[name].emplace_back(value, point.us);
  }
  std::vector<std::tuple<double, std::string, std::size_t, std::size_t>> shares;
  for (const auto& [name, values] : samples) {
    const std::optional<double> share = explained_share(values);
    if (!share) continue;
    std::set<int> distinct;
    for (const auto& [value, us] : values) distinct.insert(value);
    shares.emplace_back(-*share, name, distinct.size(), values.size());
  }
  std::sort(shares.begin(), shares.end());
  nlohmann::json rows = nlohmann::json::array();
  constexpr std::size_t kShown = 20;
  for (const auto& [share, name, distinct, count] : shares) {
    if (rows.size() < kShown) rows.push_back({short_text(name), rounded(-share), distinct, count});
  }
  return rows;
}

// Counts by outcome, in the program's words.
nlohmann::json outcomes_of(const std::vector<Candidate>& candidates) {
  nlohmann::json counts = nlohmann::json::object();
  std::size_t finalists = 0, tied = 0;
  for (const Candidate& one : candidates) {
    nlohmann::json& count = counts[std::string(to_string(one.disposition))];
    count = count.is_null() ? 1 : count.get<int>() + 1;
    if (one.disposition != Disposition::ok) continue;
    finalists += one.ranking ? 1 : 0;
    tied += one.ranking && one.ranking->tied ? 1 : 0;
  }
  counts["finalists"] = finalists;
  counts["tied"] = tied;
  return counts;
}

}  // namespace

nlohmann::json rounded(const std::optional<double>& value) {
  if (!value) return nullptr;
  char text[32];
  std::snprintf(text, sizeof text, "%.5g", *value);
  return std::strtod(text, nullptr);
}

std::string short_text(const std::string& text) {
  constexpr std::size_t kLongest = 120;
  return printable(text.substr(0, text.find('\n')), kLongest);
}

std::optional<double> StoredClock::at(const std::string& run, const std::string& recorded_at) {
  const std::optional<double> now = seconds_of(recorded_at);
  if (!now) runs_ = false;
  if (!runs_) return std::nullopt;
  if (!start_ || run != run_) {
    run_ = run;
    start_ = now;
    earlier_ = latest_;
  }
  latest_ = std::max(latest_, earlier_ + *now - *start_);
  return latest_;
}

void ProblemRows::add(const Record& row, bool counts, std::size_t config) {
  const std::optional<double> now = clock_.at(row.run.uuid, row.recorded_at);
  const auto [known, is_new] = numbers_.try_emplace({config, row.source}, candidates_.size());
  if (is_new) {
    candidates_.emplace_back();
    candidates_.back().config = config;
    candidates_.back().source = row.source;
  }
  Candidate& candidate = candidates_[known->second];
  const Outcome& outcome = row.outcome;
  const bool is_ok = outcome.disposition == Disposition::ok;
  if (is_ok && !candidate.first_us) {
    candidate.first_us = outcome.time_us();
    candidate.seconds = now.value_or(0);
  }
  if (!counts) return;
  candidate.disposition = outcome.disposition;
  candidate.reason = outcome.detail;
  candidate.resources = outcome.resources;
  candidate.ranking = outcome.ranking;
  candidate.us = is_ok ? outcome.time_us() : std::nullopt;
}

ProblemSummary ProblemRows::summary(const std::vector<Config>& configs) && {
  ProblemSummary summary;
  const auto is_measured = [](const Candidate& one) { return one.source == Source::measured; };
  const bool measured = std::any_of(candidates_.begin(), candidates_.end(), is_measured);
  summary.source = measured ? Source::measured : Source::predicted;
  std::erase_if(candidates_, [&](const Candidate& one) { return one.source != summary.source; });
  summary.tried = candidates_.size();
  for (std::size_t i = 0; i < candidates_.size(); ++i) {
    Candidate& one = candidates_[i];
    one.attempt = i + 1;
    if (one.us) summary.points.push_back({one.config, one.attempt, *one.us, one.resources});
  }
  std::stable_sort(summary.points.begin(), summary.points.end(),
                   [](const SummaryPoint& a, const SummaryPoint& b) { return a.us < b.us; });
  summary.detail = {
      {"outcomes", outcomes_of(candidates_)},
      {"reasons", reasons_of(candidates_)},
      {"steps", steps_of(candidates_, clock_.runs())},
      {"seconds", rounded(clock_.latest())},
      {"tiles", best_times(summary.points, configs, &Traits::tile_m, &Traits::tile_n)},
      {"thread_tiles", best_times(summary.points, configs, &Traits::thread_m, &Traits::thread_n)},
      {"shares", shares_of(summary.points, configs)}};
  return summary;
}

std::optional<double> explained_share(const std::vector<std::pair<int, double>>& samples) {
  if (samples.empty()) return std::nullopt;
  struct Sum {
    double logs = 0, count = 0;
  };
  std::map<int, Sum> values;
  Sum all;
  for (const auto& [value, us] : samples) {
    const double y = std::log(us);
    values[value].logs += y;
    values[value].count += 1;
    all.logs += y;
    all.count += 1;
  }
  const double mean = all.logs / all.count;
  double between = 0, whole = 0;
  for (const auto& [value, sum] : values) {
    between += sum.count * std::pow(sum.logs / sum.count - mean, 2);
  }
  for (const auto& [value, us] : samples) whole += std::pow(std::log(us) - mean, 2);
  constexpr double kRounding = 1e-12;
  if (values.size() < 2 || whole < kRounding * all.count) return std::nullopt;
  return std::min(between / whole, 1.0);
}

std::vector<std::size_t> thinned(std::size_t count, std::size_t most) {
  std::vector<std::size_t> kept;
  if (count <= most) most = count;
  const std::size_t first = count == most ? count : most - most / 2, others = most - first;
  for (std::size_t i = 0; i < first; ++i) kept.push_back(i);
  // From the first of the others to the last.
  for (std::size_t i = 0; i < others; ++i) {
    kept.push_back(others == 1 ? count - 1 : first + i * (count - 1 - first) / (others - 1));
  }
  return kept;
}

}  // namespace gemm_tune
