// SPDX-License-Identifier: Apache-2.0
// Writes a database of a million made-up rows: 2 devices x 1000 problems x 500 configs of today's
// warp_tiled kernel, each timed once, with finals and a baseline for each problem.
//
// usage: large_database FILE 1|3|upgrade [PROBLEMS]
//   1, 2: writes a new file of that version of the schema. upgrade: opens a file for writing.
//   PROBLEMS: on each device, instead of 1000.
// The rows are the same each time. bench/large_database.py measures the program on such a file.
#include <SQLiteCpp/SQLiteCpp.h>

#include <algorithm>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "core/error.h"
#include "db/database.h"
#include "db/schema.h"
#include "db/validity.h"
#include "kernel_templates/registry.h"
#include "kernel_templates/source.h"
#include "search/space.h"

namespace gemm_tune {
namespace {

constexpr const char* kFamily = "warp_tiled";
constexpr int kConfigs = 500, kFinalists = 4;
const DeviceKey kDevices[] = {{"sm_86", "NVIDIA RTX A6000", 84}, {"sm_86", "NVIDIA A10", 72}};

Problem problem(int index) {
  return packed_problem(128 * (1 + index % 10), 128 * (1 + index / 10 % 10),
                        128 * (1 + index / 100));
}

std::vector<std::string> configs() {
  const auto veto = [](const KnownConfig& point) -> std::optional<std::string_view> {
    if (point.traits.predicated) return "no problem() has a ragged edge";
    return std::nullopt;
  };
  const Space space =
      enumerate({find_family(kFamily)}, settled_params(problem(0)), veto, {kConfigs, 1});
  std::vector<std::string> texts;
  for (const KnownConfig& point : space.points) texts.push_back(to_string(point.config()));
  if (texts.size() != kConfigs) throw Error("the space has too few configs");
  return texts;
}

Timing timing(double median_us) {
  Timing timing;
  timing.median_us = median_us;
  timing.launches_per_sample = 20;
  for (int i = -5; i <= 5; ++i) timing.samples_us.push_back(median_us * (1 + 0.001 * i));
  timing.cold_us = 1.2 * median_us;
  timing.conditions = {1800, 290.5, 62};
  return timing;
}

void write_rows(const std::filesystem::path& path, int problems) {
  const std::vector<std::string> texts = configs();
  const std::vector<KernelText> kernels = kernel_texts();
  const std::string hash = hashes_of(kernels).at(kFamily);
  Database database(path, Database::Mode::create_or_open);
  database.begin_run({"0.1.0", "13.0", "580.159.04", "large_database", 1}, kernels);
  std::mt19937_64 random(1);
  const auto time_us = [&] { return 50.0 + static_cast<double>(random() % 1'000'000) / 1e4; };
  for (const DeviceKey& device : kDevices) {
    for (int p = 0; p < problems; ++p) {
      database.together([&] {
        database.store_baseline(device, problem(p), {"cublasSgemm 13.1.0", timing(time_us())});
        for (int c = 0; c < kConfigs; ++c) {
          Outcome outcome;
          outcome.resources = Resources{116, 0, 0, 8448, 2};
          outcome.timing = timing(time_us());
          outcome.predicted_us = time_us();
          outcome.standing = c < kFinalists ? Standing::tied : Standing::search;
          outcome.error = 1e-6;
          database.store(device, problem(p), texts[static_cast<std::size_t>(c)], hash, outcome,
                         Source::measured);
        }
      });
    }
  }
}

// The rows of a file of the current version as version 1 would have stored them, but for the
// kernel: today's identity, which the upgrade keeps, so that the rows count before and after.
void write_version_1(const std::filesystem::path& from, const std::filesystem::path& path) {
  SQLite::Database db(path.string(), SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE);
  db.exec(kSchema1);
  SQLite::Statement attach(db, "ATTACH ? AS current");
  attach.bind(1, from.string());
  attach.exec();
  SQLite::Transaction transaction(db);
  db.exec(R"sql(
    INSERT INTO main.devices SELECT * FROM current.devices;
    INSERT INTO main.problems SELECT * FROM current.problems;
    INSERT INTO main.runs SELECT id, tool_version, cuda_version, driver_version, command, seed, started_at
      FROM current.runs;
    INSERT INTO main.baselines
      SELECT id, device_id, problem_id, run_id, name, median_us, samples, launches_per_sample, cold_us,
             sm_mhz, power_w, temperature_c, disturbance FROM current.baselines)sql");
  SQLite::Statement rows(db, R"sql(
    INSERT INTO candidates (
      id, device_id, problem_id, config, kernel_hash, run_id, disposition, reason, source,
      registers, spill_bytes, stack_bytes, smem_bytes, ctas_per_sm, median_us, samples,
      launches_per_sample, standing, cold_us, sm_mhz, power_w, temperature_c, disturbance,
      predicted_us, baseline_id, recorded_at)
    SELECT m.id, device_id, problem_id, c.text, :hash, run_id, disposition, reason, source,
           registers, spill_bytes, stack_bytes, smem_bytes, ctas_per_sm, median_us, samples,
           launches_per_sample, standing, cold_us, sm_mhz, power_w, temperature_c, disturbance,
           predicted_us, (SELECT b.id FROM current.baselines b
                          WHERE b.run_id = m.run_id AND b.problem_id = m.problem_id
                            AND b.device_id = m.device_id), recorded_at
    FROM current.measurements m CROSS JOIN current.configs c ON c.id = m.config_id)sql");
  rows.bind(":hash", current_kernel_hashes().at(kFamily));
  rows.exec();
  transaction.commit();
}

}  // namespace
}  // namespace gemm_tune

int main(int argc, char** argv) {
  using namespace gemm_tune;
  const std::string version = argc == 3 || argc == 4 ? argv[2] : "";
  if (version != "1" && version != "3" && version != "upgrade") {
    std::fputs("usage: large_database FILE 1|3|upgrade [PROBLEMS]\n", stderr);
    return 2;
  }
  try {
    const std::filesystem::path path = argv[1], current = path.string() + ".version-3";
    if (version == "upgrade") {
      const Database database(path, Database::Mode::create_or_open);
      return 0;
    }
    const int problems = argc == 4 ? std::stoi(argv[3]) : 1000;
    if (std::filesystem::exists(path)) throw UsageError(path.string() + " exists already");
    if (version == "3") {
      write_rows(path, problems);
    } else {
      write_rows(current, problems);
      write_version_1(current, path);
      std::filesystem::remove(current);
    }
  } catch (const std::exception& error) {
    std::fprintf(stderr, "large_database: %s\n", error.what());
    return 1;
  }
}
