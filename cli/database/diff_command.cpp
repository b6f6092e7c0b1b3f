// SPDX-License-Identifier: Apache-2.0
// gemm-tune db diff: the rows and winners in which two databases differ.
#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "cli/arguments/database.h"
#include "cli/database/db_commands.h"
#include "cli/output/exit_code.h"
#include "cli/output/standard_output.h"
#include "core/text/printable.h"
#include "core/text/quantity.h"
#include "db/transfer/diff.h"
#include "db/validity/validity.h"
#include "tuner/report/report.h"
#include "tuner/report/slow_work.h"

namespace gemm_tune {
namespace {

struct DiffOptions {
  std::vector<std::string> databases;  // two
  std::vector<std::string> families;
  bool json = false;
  bool quiet = false;

  void declare(CLI::App& app) {
    app.add_option("databases", databases, "A and B")->required()->expected(2);
    add_json(app, json);
    add_families(app, families);
    add_quiet(app, quiet);
  }
};

double winner_us(const Record& record) {
  return record.outcome.timing ? record.outcome.timing->median_us
                               : record.outcome.predicted_us.value_or(0);
}

std::string winner_text(const char* name, const std::optional<Record>& winner) {
  if (!winner) return fmt::format("    {}  -\n", name);
  return fmt::format(
      "    {}  {:>10}  {}{}\n", name, duration_text(winner_us(*winner)), winner->config,
      winner->source == Source::predicted ? fmt::format("  ({})", kPredictedLabel) : "");
}

std::string difference_text(const DatabaseDifference& difference, const std::string& a,
                            const std::string& b) {
  std::string text =
      fmt::format("a: {}\nb: {}\nrows of b that a has not: {}\n", printable(a), printable(b),
                  grouped(static_cast<std::uint64_t>(difference.rows)));
  for (const DatabaseDifference::Rows& rows : difference.by_problem) {
    std::string counts;
    for (const auto& [kind, count] : rows.counts) {
      counts += fmt::format("{}{} {}{}", counts.empty() ? "" : ", ",
                            grouped(static_cast<std::uint64_t>(count)), to_string(kind.second),
                            kind.first == Source::predicted ? " (predicted)" : "");
    }
    text += fmt::format("  {} ({}, {} SMs)  {}  {}\n", printable(rows.device.name),
                        rows.device.arch, rows.device.sm_count, rows.problem, counts);
  }
  text += fmt::format("winners that differ: {}\n", difference.winners.size());
  for (const DatabaseDifference::Winner& winner : difference.winners) {
    text += fmt::format("  {} ({}, {} SMs)  {}", printable(winner.device.name), winner.device.arch,
                        winner.device.sm_count, winner.problem);
    if (winner.a && winner.b && winner.a->source == winner.b->source) {
      text +=
          fmt::format("  b takes {:.3f} of a's time", winner_us(*winner.b) / winner_us(*winner.a));
    }
    text += "\n" + winner_text("a", winner.a) + winner_text("b", winner.b);
  }
  return text;
}

nlohmann::json device_json(const DeviceKey& device) {
  return {{"arch", device.arch}, {"name", device.name}, {"sm_count", device.sm_count}};
}

nlohmann::json winner_json(const std::optional<Record>& winner) {
  if (!winner) return nullptr;
  nlohmann::json json = {{"config", winner->config},
                         {"revision", winner->revision},
                         {"source", to_string(winner->source)},
                         {"median_us", nullptr},
                         {"predicted_us", nullptr},
                         {"recorded_at", winner->recorded_at},
                         {"run", winner->run.uuid}};
  if (winner->outcome.timing) json["median_us"] = winner->outcome.timing->median_us;
  if (winner->outcome.predicted_us) json["predicted_us"] = *winner->outcome.predicted_us;
  return json;
}

nlohmann::json difference_json(const DatabaseDifference& difference, const std::string& a,
                               const std::string& b) {
  nlohmann::json problems = nlohmann::json::array(), winners = nlohmann::json::array();
  for (const DatabaseDifference::Rows& rows : difference.by_problem) {
    nlohmann::json counts = nlohmann::json::object();  // by source, then disposition
    for (const auto& [kind, count] : rows.counts) {
      counts[to_string(kind.first)][to_string(kind.second)] = count;
    }
    problems.push_back(
        {{"device", device_json(rows.device)}, {"problem", rows.problem}, {"rows", counts}});
  }
  for (const DatabaseDifference::Winner& winner : difference.winners) {
    winners.push_back({{"device", device_json(winner.device)},
                       {"problem", winner.problem},
                       {"a", winner_json(winner.a)},
                       {"b", winner_json(winner.b)}});
  }
  return {{"a", a},
          {"b", b},
          {"rows_only_in_b", difference.rows},
          {"problems", problems},
          {"winners", winners}};
}

int run_diff(const DiffOptions& options) {
  const std::string &a = options.databases.at(0), &b = options.databases.at(1);
  const DatabaseDifference difference = [&] {
    const SlowWork progress(options.quiet, "comparing '" + a + "' and '" + b + "'");
    return compare_databases(a, b, current_revisions(), lock_wait(options.quiet, a));
  }();
  if (options.json) {
    print_json(difference_json(difference, a, b));
  } else {
    print_text(difference_text(difference, a, b));
  }
  return kExitOk;
}

}  // namespace

void add_db_diff(CLI::App& app, Call& call) { attach<DiffOptions>(app, call, run_diff); }

}  // namespace gemm_tune
