// SPDX-License-Identifier: Apache-2.0
#include "tuner/report/range_table.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <cmath>

#include "core/candidate/outcome.h"
#include "core/text/quantity.h"
#include "tuner/range/m_range.h"
#include "tuner/report/report.h"

namespace gemm_tune {
namespace {

// "within 5 %".
std::string percent(double share) { return fmt::format("{:.3g} %", 100 * share); }

std::string text_of_range(const RangeReport& range) {
  return range_text(range.rows.front().problem, range.rows.back().problem.M);
}

// "1 to 16", "24".
std::string m_text(const RangeRow& first, const RangeRow& last) {
  return first.problem.M == last.problem.M
             ? std::to_string(first.problem.M)
             : fmt::format("{} to {}", first.problem.M, last.problem.M);
}

// "5 %", or "178 %, not 5 %," where --time or other times of the finals left some M slower.
std::string within_text(const RangeReport& range) {
  double within = range.within;
  for (const RangeRow& row : range.rows) {
    if (row.of_best > 0) within = std::max(within, 1 / row.of_best - 1);
  }
  const std::string asked = percent(range.within);
  const bool holds = percent(within) == asked;
  return holds ? asked : percent(within) + ", not " + asked + ",";
}

// What the order of sums costs, and how another is found.
std::string order_text(const RangeReport& range) {
  std::string text =
      "what the order of sums costs is not known before the same is tuned without "
      "--batch-invariant";
  if (const std::optional<OrderCost>& cost = range.order_cost) {
    text = "the order of sums costs ";
    text += cost->most < 1.0005
                ? "nothing"
                : fmt::format("{:.1f} % in the mean, {:.1f} % at M = {}", 100 * (cost->mean - 1),
                              100 * (cost->most - 1), cost->at_m);
    text += " beside the fastest known kernels of others";
  }
  if (!range.order_of_calls.empty()) {
    return text + "; calls are served in the order " + range.order_of_calls +
           ", which is verified at as many M and not slower\n";
  }
  return text + "; later runs keep it, --finals over as many M chooses it anew\n";
}

}  // namespace

std::string range_table(const RangeReport& range) {
  std::string text = fmt::format(
      "{}: {} for all M, within {} of the best of {} at each of the {} M that were tried{}\n",
      text_of_range(range), counted(range.configs.size(), "config"), within_text(range), range.pool,
      range.rows.size(), range.measured ? "" : std::string(" (") + kPredictedLabel + ")");
  if (!range.order.empty()) text += "  in one order of sums: " + range.order + "\n";
  const std::size_t digits = std::to_string(range.rows.back().problem.M).size();
  const std::size_t width = std::max<std::size_t>(14, 2 * digits + 4);  // "1024 to 4096"
  text += fmt::format("  {:<{}} {:>11}  config\n", "M", width, "of the best");
  for (auto first = range.rows.begin(); first != range.rows.end();) {
    auto end = first;
    double least = 1;
    for (; end != range.rows.end() && end->config == first->config; ++end) {
      least = std::min(least, end->of_best);
    }
    text += fmt::format("  {:<{}} {:>11}  {}\n", m_text(*first, *(end - 1)), width,
                        first->config.empty() ? "-" : fmt::format("{:.3f}", least),
                        first->config.empty() ? "nothing serves" : first->config);
    first = end;
  }
  text += "an M between two is served by the config of one of them\n";
  return range.order.empty() ? text : text + order_text(range);
}

nlohmann::json range_json(const RangeReport& range) {
  nlohmann::json rows = nlohmann::json::array();
  for (const RangeRow& row : range.rows) {
    nlohmann::json one = {{"problem", to_string(row.problem)}};
    if (!row.config.empty()) {
      one["config"] = row.config;
      one["time_us"] = row.us;
      one["of_best"] = row.of_best;
    }
    rows.push_back(std::move(one));
  }
  nlohmann::json json = {
      {"range", text_of_range(range)},
      {"within", range.within},
      {"pool", range.pool},
      {"configs", range.configs},
      {"source", to_string(range.measured ? Source::measured : Source::predicted)},
      {"rows", std::move(rows)}};
  if (range.order.empty()) return json;
  json["order_of_sums"] = range.order;
  if (!range.order_of_calls.empty()) json["order_of_calls"] = range.order_of_calls;
  if (const std::optional<OrderCost>& cost = range.order_cost) {
    json["order_costs"] = {{"mean", cost->mean}, {"most", cost->most}, {"at_m", cost->at_m}};
  }
  return json;
}

}  // namespace gemm_tune
