// SPDX-License-Identifier: Apache-2.0
#include "cli/explain/stored_rows.h"

#include <utility>

#include "choose/layered.h"
#include "db/validity/checked_configs.h"
#include "kernel_templates/registry/library_families.h"

namespace gemm_tune {
namespace {

// The time of a row that holds, whose config still exists.
std::optional<double> time_of(const Record& row, const KernelRevisions& revisions) {
  if (row.outcome.disposition != Disposition::ok) return std::nullopt;
  if (why_stale(row.config, row.revision, revisions)) return std::nullopt;
  return row.outcome.time_us();
}

}  // namespace

std::vector<ProblemRow> stored_rows(const Database* database,
                                    const std::vector<std::filesystem::path>& layers,
                                    const DeviceKey& device, const Problem& problem) {
  std::vector<ProblemRow> rows;
  CheckedConfigs configs;
  const auto add = [&](const Database& from, const std::string& layer) {
    for (Record& record : from.records(device, problem)) {
      if (configs.may_serve(record.config, problem)) rows.push_back({std::move(record), layer});
    }
  };
  if (database != nullptr) add(*database, "");
  read_layers(layers, [&](const Database& from, const std::filesystem::path& layer) {
    add(from, layer.string());
  });
  return rows;
}

std::optional<double> measured_us(const std::vector<ProblemRow>& rows,
                                  const KernelRevisions& revisions, const std::string& config) {
  for (const auto& [row, layer] : rows) {
    const auto time = time_of(row, revisions);
    if (row.config == config && row.outcome.timing && time) return time;
  }
  return std::nullopt;
}

std::optional<KnownConfig> best_other(const std::vector<ProblemRow>& rows,
                                      const KernelRevisions& revisions, const std::string& config) {
  const Record* best = nullptr;
  std::pair<bool, double> least;
  for (const auto& [row, layer] : rows) {
    const auto time = time_of(row, revisions);
    const std::pair<bool, double> rank = {!row.outcome.timing, time.value_or(0)};
    if (row.config == config || names_library(row.config) || !time ||
        (best != nullptr && rank >= least))
      continue;
    best = &row;
    least = rank;
  }
  return best == nullptr ? std::nullopt : std::optional(check_config(parse_config(best->config)));
}

}  // namespace gemm_tune
