// SPDX-License-Identifier: Apache-2.0
// gemm-tune db info: counts a database's rows.
#include <spdlog/fmt/fmt.h>

#include <map>
#include <nlohmann/json.hpp>
#include <tuple>
#include <utility>

#include "cli/arguments/database.h"
#include "cli/database/db_commands.h"
#include "cli/output/exit_code.h"
#include "cli/output/standard_output.h"
#include "core/error.h"
#include "core/text/printable.h"
#include "core/text/quantity.h"
#include "db/validity/validity.h"
#include "gpu/compile/nvrtc.h"
#include "gpu/device.h"
#include "tuner/report/report.h"
#include "tuner/report/slow_work.h"

namespace gemm_tune {
namespace {

struct InfoOptions : DatabaseOptions {
  bool json = false;

  void declare(CLI::App& app) {
    add_database(app, *this);
    add_json(app, json);
  }
};

using Counts = std::map<std::pair<Source, Disposition>, std::uint64_t>;

struct ProblemRows {
  Problem problem;
  Counts rows;
};

struct DeviceRows {
  DeviceKey device;
  // Sorted by shape, then by text, as a person looks for a problem.
  std::map<std::tuple<std::int64_t, std::int64_t, std::int64_t, std::string>, ProblemRows> problems;
};

struct Contents {
  std::map<std::tuple<std::string, std::string, int>, DeviceRows> devices;
  std::map<std::pair<Validity, std::string>, std::uint64_t> validity;  // with its reason
  std::uint64_t rows = 0;
};

Contents contents_of(const Database& database, const Environment& now) {
  Contents contents;
  std::map<std::tuple<std::string, std::string, Source, std::string, std::string>, Grade> grades;
  database.for_each_summary([&](const Record& record) {
    const DeviceKey& key = record.device;
    DeviceRows& device = contents.devices[{key.arch, key.name, key.sm_count}];
    device.device = key;
    const Problem& p = record.problem;
    ProblemRows& problem = device.problems[{p.M, p.N, p.K, to_string(p)}];
    problem.problem = p;
    ++problem.rows[{record.source, record.outcome.disposition}];
    const auto [known, is_new] =
        grades.try_emplace({record.config, record.revision, record.source, record.run.cuda_version,
                            record.run.driver_version});
    if (is_new) known->second = grade(record, now);
    ++contents.validity[{known->second.validity, known->second.reason}];
    ++contents.rows;
  });
  return contents;
}

std::string counts_text(const Counts& counts) {
  std::string text;
  for (const auto& [kind, count] : counts) {
    const auto& [source, disposition] = kind;
    text +=
        fmt::format("{}{} {}", text.empty() ? "" : ", ", grouped(count), to_string(disposition));
    if (source == Source::predicted && disposition == Disposition::ok) {
      text += fmt::format(" ({})", kPredictedLabel);
    }
  }
  return text;
}

std::uintmax_t size_bytes(const Database& database) {
  std::error_code error;
  const std::uintmax_t size = std::filesystem::file_size(database.path(), error);
  if (!error) return size;
  throw DatabaseError("database '" + database.path().string() +
                      "' cannot be read any more: " + error.message());
}

std::string info_text(const Database& database, const Contents& contents) {
  const Database::Journal journal = database.journal();
  std::string text = fmt::format("{}: {} bytes, schema {}, journal mode {}{}\n",
                                 printable(database.path().string()), grouped(size_bytes(database)),
                                 Database::schema_version(), journal.mode,
                                 journal.why.empty() ? "" : ": " + journal.why);
  text +=
      fmt::format("runs: {}, rows: {}\n", grouped(static_cast<std::uint64_t>(database.run_count())),
                  grouped(contents.rows));
  for (const auto& [device_key, device] : contents.devices) {
    text += fmt::format("{} ({}, {} SMs)\n", printable(device.device.name), device.device.arch,
                        device.device.sm_count);
    for (const auto& [problem_key, problem] : device.problems) {
      text += fmt::format("  {}  {}\n", to_string(problem.problem), counts_text(problem.rows));
    }
  }
  for (const auto& [grade, count] : contents.validity) {
    text += fmt::format(
        "{} {}: {}\n", grouped(count), to_string(grade.first),
        grade.second.empty() ? "nothing is known to have changed since" : printable(grade.second));
  }
  return text;
}

nlohmann::json info_json(const Database& database, const Contents& contents) {
  const Database::Journal journal = database.journal();
  nlohmann::json devices = nlohmann::json::array(), validity = nlohmann::json::array();
  for (const auto& [device_key, device] : contents.devices) {
    nlohmann::json problems = nlohmann::json::array();
    for (const auto& [problem_key, problem] : device.problems) {
      nlohmann::json rows = nlohmann::json::object();  // by source, then disposition
      for (const auto& [kind, count] : problem.rows) {
        rows[to_string(kind.first)][to_string(kind.second)] = count;
      }
      problems.push_back({{"problem", to_string(problem.problem)}, {"rows", rows}});
    }
    devices.push_back({{"arch", device.device.arch},
                       {"name", device.device.name},
                       {"sm_count", device.device.sm_count},
                       {"problems", problems}});
  }
  for (const auto& [grade, count] : contents.validity) {
    validity.push_back(
        {{"validity", to_string(grade.first)}, {"reason", grade.second}, {"rows", count}});
  }
  return {{"database", database.path().string()},
          {"size_bytes", size_bytes(database)},
          {"schema_version", Database::schema_version()},
          {"journal", {{"mode", journal.mode}, {"why", journal.why}}},
          {"runs", database.run_count()},
          {"rows", contents.rows},
          {"devices", devices},
          {"validity", validity}};
}

int run_info(const InfoOptions& options) {
  const Database database = open_for_reading(options);
  const Contents contents = [&] {
    const SlowWork progress(options.quiet, "reading '" + database.path().string() + "'");
    return contents_of(
        database, {current_revisions(), nvrtc_version_if_there(), driver_version().value_or("")});
  }();
  if (options.json) {
    print_json(info_json(database, contents));
  } else {
    print_text(info_text(database, contents));
  }
  return kExitOk;
}

}  // namespace

void add_db_info(CLI::App& app, Call& call) { attach<InfoOptions>(app, call, run_info); }

}  // namespace gemm_tune
