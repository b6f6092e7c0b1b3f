// SPDX-License-Identifier: Apache-2.0
// gemm-tune db info, check and salvage: lists a database's content, checks it for damage, and saves
// the readable rows of a damaged one.
#include <spdlog/fmt/fmt.h>

#include <map>
#include <nlohmann/json.hpp>
#include <tuple>
#include <utility>

#include "choose/layered.h"
#include "core/error.h"
#include "core/printable.h"
#include "db/check.h"
#include "db/layers.h"
#include "db/salvage.h"
#include "db/validity.h"
#include "gpu/device.h"
#include "gpu/nvrtc.h"
#include "tuner/app/commands.h"
#include "tuner/app/exit_code.h"
#include "tuner/app/standard_output.h"
#include "tuner/app/target.h"
#include "tuner/report/report.h"
#include "tuner/report/slow_work.h"

namespace gemm_tune {
namespace {

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
        grades.try_emplace({record.config, record.kernel_hash, record.source,
                            record.run.cuda_version, record.run.driver_version});
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
  std::string text =
      fmt::format("{}: {} bytes, schema {}, journal mode {}{}\n", database.path().string(),
                  grouped(size_bytes(database)), database.schema_version(), journal.mode,
                  journal.why.empty() ? "" : ": " + journal.why);
  text +=
      fmt::format("runs: {}, rows: {}\n", grouped(static_cast<std::uint64_t>(database.run_count())),
                  grouped(contents.rows));
  for (const auto& [device_key, device] : contents.devices) {
    text += fmt::format("{} ({}, {} SMs)\n", device.device.name, device.device.arch,
                        device.device.sm_count);
    for (const auto& [problem_key, problem] : device.problems) {
      text += fmt::format("  {}  {}\n", to_string(problem.problem), counts_text(problem.rows));
    }
  }
  for (const auto& [grade, count] : contents.validity) {
    text += fmt::format("{} {}{}{}\n", grouped(count), to_string(grade.first),
                        grade.second.empty() ? "" : ": ", grade.second);
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
          {"schema_version", database.schema_version()},
          {"journal", {{"mode", journal.mode}, {"why", journal.why}}},
          {"runs", database.run_count()},
          {"rows", contents.rows},
          {"devices", devices},
          {"validity", validity}};
}

// Empty without NVRTC: rows are then not compared with it.
std::string nvrtc_version_here() {
  try {
    return nvrtc_version();
  } catch (const DeviceError&) {
    return "";
  }
}

// Reads the layers below the database and prints a line for each; whether all can be read.
bool check_layers(const Options& options) {
  bool are_sound = true;
  for (const std::filesystem::path& layer : layers_below(options)) {
    const Layered read = load_layered(nullptr, {layer});
    are_sound = are_sound && read.notes.empty();
    print_text(fmt::format("layer {}: {}\n", printable(layer.string()),
                           read.notes.empty() ? "can be read" : printable(read.notes.front())));
  }
  return are_sound;
}

}  // namespace

int run_db_info(const Options& options) {
  const Database database = open_for_reading(options);
  const Contents contents = [&] {
    const SlowWork progress(options.quiet, "reading '" + database.path().string() + "'");
    return contents_of(
        database, {current_kernel_hashes(), nvrtc_version_here(), driver_version().value_or("")});
  }();
  if (options.json) {
    print_json(info_json(database, contents));
  } else {
    print_text(info_text(database, contents));
    if (database.has_other_kernel_texts(current_kernel_hashes())) {
      print_text(
          "`gemm-tune db rekey` lets stale rows count whose kernel is the same machine code as "
          "today's\n");
    }
  }
  return kExitOk;
}

int run_db_check(const Options& options) {
  const std::filesystem::path own = default_database_path_or_none();
  if (is_missing_above(layers_below(options), own)) {
    print_text((own.empty() ? "the user's database" : printable(own.string())) +
               " does not exist: the layers answer alone\n");
    return check_layers(options) ? kExitOk : kExitDatabase;
  }
  const std::filesystem::path path = database_path(options);
  const LockWait lock = lock_wait(options, path);
  std::vector<std::string> findings, foreign;
  {
    const SlowWork progress(options.quiet, "checking '" + path.string() + "'");
    findings = check_database(path, lock);
    if (findings.empty()) foreign = foreign_objects(path, lock);
  }
  if (findings.empty()) print_text(fmt::format("{} is sound\n", path.string()));
  for (const std::string& finding : findings) print_text(fmt::format("{}\n", printable(finding)));
  for (const std::string& object : foreign) {
    print_text(fmt::format("{} is not gemm-tune's; it is never read\n", object));
  }
  const bool layers_are_sound = check_layers(options);
  return findings.empty() && layers_are_sound ? kExitOk : kExitDatabase;
}

int run_db_salvage(const Options& options) {
  if (options.output == "-") {
    throw UsageError("a database cannot go to standard output: name a new file in --output");
  }
  const std::filesystem::path path = database_path(options);
  const std::vector<SalvagedTable> tables = [&] {
    const SlowWork progress(options.quiet, "salvaging '" + path.string() + "'");
    return salvage_database(path, options.output, lock_wait(options, path));
  }();
  for (const SalvagedTable& table : tables) {
    print_text(fmt::format(
        "{}: {} kept{}\n", table.name, rows_text(table.kept),
        table.lost > 0
            ? fmt::format(", at least {} lost", grouped(static_cast<std::uint64_t>(table.lost)))
            : ""));
  }
  print_text(fmt::format("salvaged into {}; the damaged file is unchanged\n", options.output));
  return kExitOk;
}

}  // namespace gemm_tune
