// SPDX-License-Identifier: Apache-2.0
// Writes a database of a million made-up rows: 2 devices x 1000 problems x 500 configs of today's
// warp_tiled kernel, each timed once, with finals and a baseline for each problem.
//
// usage: large_database FILE [PROBLEMS]
//   FILE: a new one. PROBLEMS: on each device, instead of 1000.
// The rows are the same each time. bench/library/large_database.py measures the program on such a
// file.
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
#include "db/validity/validity.h"
#include "kernel_templates/registry/registry.h"
#include "kernel_templates/source/source.h"
#include "search/space/space.h"

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
  const KernelRevisions revisions = current_revisions();
  Database database(path, Database::Mode::create_or_open);
  database.begin_run({"0.1.0", "13.0", "580.159.04", "large_database", 1}, revisions);
  std::mt19937_64 random(1);
  const auto time_us = [&] { return 50.0 + static_cast<double>(random() % 1'000'000) / 1e4; };
  for (const DeviceKey& device : kDevices) {
    for (int p = 0; p < problems; ++p) {
      database.together([&] {
        database.store_baseline(device, problem(p), {"cublasSgemm", "13.1.0", timing(time_us())});
        for (int c = 0; c < kConfigs; ++c) {
          Outcome outcome;
          outcome.resources = Resources{116, 0, 0, 8448, 2};
          outcome.timing = timing(time_us());
          outcome.predicted_us = time_us();
          if (c < kFinalists) outcome.ranking = Ranking{c + 1, c + 1, true, c == 0};
          outcome.error = 1e-6;
          database.store(device, problem(p), texts[static_cast<std::size_t>(c)],
                         revisions.at(kFamily), outcome, Source::measured);
        }
      });
    }
  }
}

}  // namespace
}  // namespace gemm_tune

int main(int argc, char** argv) {
  using namespace gemm_tune;
  if (argc != 2 && argc != 3) {
    std::fputs("usage: large_database FILE [PROBLEMS]\n", stderr);
    return 2;
  }
  try {
    const std::filesystem::path path = argv[1];
    if (std::filesystem::exists(path)) throw UsageError(path.string() + " exists already");
    write_rows(path, argc == 3 ? std::stoi(argv[2]) : 1000);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "large_database: %s\n", error.what());
    return 1;
  }
}
