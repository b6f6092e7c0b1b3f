// SPDX-License-Identifier: Apache-2.0
#include "db/transfer/diff.h"

#include <set>
#include <tuple>

#include "db/database_impl.h"
#include "db/file/database_file.h"
#include "db/transfer/row_transfer.h"
#include "db/validity/checked_configs.h"

namespace gemm_tune {
namespace {

namespace fs = std::filesystem;

// By device, then as a person looks for a problem.
using Place = std::tuple<std::string, std::string, int, std::int64_t, std::int64_t, std::int64_t,
                         std::string>;

Place place_of(const Record& record) {
  const auto& [device, p] = std::tie(record.device, record.problem);
  return {device.arch, device.name, device.sm_count, p.M, p.N, p.K, to_string(p)};
}

std::map<Place, Record> winners_of(const Database& database, const KernelRevisions& revisions) {
  std::set<std::string> archs;
  for (const DeviceKey& device : database.devices()) archs.insert(device.arch);
  std::map<Place, Record> winners;
  CheckedConfigs configs;
  const auto may_serve = [&](const std::string& config, const Problem& problem) {
    return configs.may_serve(config, problem);
  };
  for (const std::string& arch : archs) {
    for (const Record& winner : database.winners(arch, revisions, {}, may_serve)) {
      winners.emplace(place_of(winner), winner);
    }
  }
  return winners;
}

std::vector<DatabaseDifference::Winner> differing_winners(const Database& a, const Database& b,
                                                          const KernelRevisions& revisions) {
  std::map<Place, DatabaseDifference::Winner> found;
  const auto put = [&](const Database& database,
                       std::optional<Record> DatabaseDifference::Winner::*side) {
    for (const auto& [place, record] : winners_of(database, revisions)) {
      DatabaseDifference::Winner& winner = found[place];
      winner.device = record.device;
      winner.problem = std::get<6>(place);
      winner.*side = record;
    }
  };
  put(a, &DatabaseDifference::Winner::a);
  put(b, &DatabaseDifference::Winner::b);
  std::vector<DatabaseDifference::Winner> winners;
  for (auto& [place, winner] : found) {
    if (winner.a && winner.b && winner.a->config == winner.b->config) continue;
    winners.push_back(std::move(winner));
  }
  return winners;
}

constexpr const char* kSelectNewRows = R"sql(
  SELECT d.arch, d.name, d.sm_count, p.text, m.source, m.disposition, count(*)
  FROM measurements m
  JOIN devices d ON d.id = m.device_id
  JOIN problems p ON p.id = m.problem_id
  WHERE m.id > ?
  GROUP BY d.id, p.id, m.source, m.disposition
  ORDER BY d.arch, d.name, d.sm_count, p.M, p.N, p.K, p.text
)sql";

}  // namespace

DatabaseDifference compare_databases(const fs::path& a, const fs::path& b,
                                     const KernelRevisions& revisions, const LockWait& lock) {
  const fs::path first = absolute_path(a), second = absolute_path(b);
  MemoryDatabase both;
  const std::int64_t rows = both.add_file(first, revisions, lock).rows;
  DatabaseDifference difference;
  difference.rows = both.add_file(second, revisions, lock).added;
  SQLite::Statement added(both.db(), kSelectNewRows);
  added.bind(1, rows);
  while (added.executeStep()) {
    const auto text = [&](int at) { return added.getColumn(at).getString(); };
    const DeviceKey device{text(0), text(1), added.getColumn(2).getInt()};
    auto& list = difference.by_problem;
    if (list.empty() || !(list.back().device == device) || list.back().problem != text(3)) {
      list.push_back({device, text(3), {}});
    }
    list.back().counts[{parse_source(text(4)), parse_disposition(text(5))}] =
        added.getColumn(6).getInt64();
  }
  difference.winners =
      differing_winners(Database(first, Database::Mode::read_only, lock),
                        Database(second, Database::Mode::read_only, lock), revisions);
  return difference;
}

}  // namespace gemm_tune
