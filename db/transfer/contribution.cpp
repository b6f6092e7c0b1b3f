// SPDX-License-Identifier: Apache-2.0
#include "db/transfer/contribution.h"

#include <algorithm>
#include <set>
#include <string_view>
#include <utility>

#include "core/error.h"
#include "core/text/printable.h"
#include "db/database_impl.h"
#include "db/file/database_file.h"
#include "db/schema/rows.h"
#include "db/schema/winners_view.h"
#include "db/transfer/json_rows.h"
#include "db/transfer/row_transfer.h"
#include "db/validity/checked_configs.h"
#include "db/validity/stale_candidates.h"
#include "db/validity/validity.h"

namespace gemm_tune {
namespace {

namespace fs = std::filesystem;

// Texts of a contribution are names, versions and times.
constexpr std::size_t kLongestText = 400;

// A row of finals whose specialisations were all verified.
constexpr const char* kIsFinalist = "rank IS NOT NULL AND verified = 1";

std::string file_name_of(const DeviceKey& device) {
  std::string name;
  for (const char c : device.name) {
    const bool is_upper = c >= 'A' && c <= 'Z';
    const bool is_word = is_upper || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
    if (is_word) {
      name += is_upper ? static_cast<char>(c - 'A' + 'a') : c;
    } else if (!name.empty() && name.back() != '-') {
      name += '-';
    }
  }
  while (name.ends_with('-')) name.pop_back();
  return device.arch + '-' + name + '-' + std::to_string(device.sm_count) + "sm.json";
}

void delete_stale(SQLite::Database& db, const KernelRevisions& revisions) {
  SQLite::Statement remove(db, "DELETE FROM measurements WHERE candidate_id = ?");
  for (const StaleCandidate& stale : stale_candidates(db, revisions)) {
    remove.bind(1, stale.id);
    remove.exec();
    remove.reset();
  }
}

std::vector<DeviceKey> devices_of(SQLite::Database& db) {
  SQLite::Statement query(db, std::string(kSelectDevice) +
                                  " WHERE d.id IN (SELECT device_id FROM measurements) "
                                  "ORDER BY d.arch, d.name, d.sm_count");
  std::vector<DeviceKey> devices;
  while (query.executeStep()) devices.push_back(read_device_key(query));
  return devices;
}

void keep_winners(SQLite::Database& db, const KernelRevisions& revisions) {
  db.exec(std::string("DELETE FROM measurements WHERE counts = 0 OR NOT (") + kIsFinalist + ")");
  delete_stale(db, revisions);
  std::set<std::string> archs;
  for (const DeviceKey& device : devices_of(db)) archs.insert(device.arch);
  std::vector<std::int64_t> winners;
  {
    CheckedConfigs configs;
    WinnersByRevisions by_revisions(db, revisions);
    by_revisions.leave_out_others([&](const std::string& config, const Problem& problem) {
      return configs.may_serve(config, problem);
    });
    for (const std::string& arch : archs) {
      const std::vector<std::int64_t> found = by_revisions.winners(arch);
      winners.insert(winners.end(), found.begin(), found.end());
    }
  }
  db.exec("CREATE TEMP TABLE kept (id INTEGER PRIMARY KEY)");
  SQLite::Statement keep(db, "INSERT INTO temp.kept VALUES (?)");
  for (const std::int64_t id : winners) {
    keep.bind(1, id);
    keep.exec();
    keep.reset();
  }
  db.exec(
      "DELETE FROM measurements WHERE id NOT IN (SELECT id FROM temp.kept); DROP TABLE temp.kept");
}

// A table of a contribution: the device's rows in order, and the columns that are left out. Of two
// columns of one name the last counts.
struct Part {
  const char* table;
  const char* select;  // ?1 is the device's id
  std::set<std::string, std::less<>> left_out;
};

const std::vector<Part>& parts() {
  static const std::vector<Part> all = {
      {"devices", "SELECT 1 AS id, arch, name, sm_count FROM devices t WHERE t.id = ?1", {}},
      {"problems",
       "SELECT t.* FROM problems t "
       "WHERE t.id IN (SELECT problem_id FROM measurements WHERE device_id = ?1) "
       "ORDER BY t.M, t.N, t.K, t.text",
       {"id"}},
      {"candidates",
       "SELECT t.* FROM candidates t "
       "WHERE t.id IN (SELECT candidate_id FROM measurements WHERE device_id = ?1) "
       "ORDER BY t.config, t.revision",
       {"id"}},
      {"runs",
       "SELECT t.uuid, t.tool_version, t.cuda_version, t.driver_version, "
       "t.power_limit_w, t.memory_mhz, t.mig_slice, t.command, t.seed, t.started_at FROM runs "
       "t "
       "WHERE t.id IN (SELECT run_id FROM measurements WHERE device_id = ?1) "
       "ORDER BY t.started_at, t.uuid",
       {}},
      {"baselines",
       "SELECT t.*, 1 AS device_id, p.text AS problem_id, r.uuid AS run_id "
       "FROM baselines t JOIN problems p ON p.id = t.problem_id JOIN runs r ON r.id = t.run_id "
       "WHERE t.device_id = ?1 AND (t.run_id, t.problem_id) IN "
       "(SELECT run_id, problem_id FROM measurements WHERE device_id = ?1) "
       "ORDER BY p.M, p.N, p.K, p.text, t.name, r.uuid",
       {"id"}},
      {"measurements",
       "SELECT t.*, 1 AS device_id, p.text AS problem_id, "
       "c.config || '@' || c.revision AS candidate_id, r.uuid AS run_id "
       "FROM measurements t JOIN problems p ON p.id = t.problem_id "
       "JOIN candidates c ON c.id = t.candidate_id JOIN runs r ON r.id = t.run_id "
       "WHERE t.device_id = ?1 ORDER BY p.M, p.N, p.K, p.text, c.config, r.uuid, t.recorded_at",
       {"id", "counts"}}};
  return all;
}

nlohmann::ordered_json line_of(SQLite::Statement& row, const Part& part) {
  nlohmann::ordered_json line = nlohmann::ordered_json::object();
  const nlohmann::ordered_json whole = object_of(row);
  for (const auto& [name, value] : whole.items()) {
    if (!part.left_out.contains(name)) line[name] = value;
  }
  return line;
}

std::string text_of(SQLite::Database& db, const DeviceKey& device) {
  SQLite::Statement find(db, std::string(kSelectDevice) +
                                 " WHERE d.arch = :arch AND d.name = :name AND d.sm_count = :sms");
  bind_device(find, device);
  if (!find.executeStep()) throw Error("a device of the database is not there");
  const std::int64_t id = find.getColumn(kDeviceIdColumn).getInt64();
  std::string text;
  for (const Part& part : parts()) {
    text += std::string(",\n\"") + part.table + "\": [";
    SQLite::Statement rows(db, part.select);
    rows.bind(1, id);
    for (const char* separator = "\n"; rows.executeStep(); separator = ",\n") {
      const nlohmann::ordered_json line = line_of(rows, part);
      text += separator + dumped(line);
    }
    text += "]";
  }
  return json_begin() + text + "}\n";
}

std::int64_t count(SQLite::Database& db, const std::string& query) {
  return db.execAndGet(query).getInt64();
}

// Why the rows are not those of one device's winners, as the end of a sentence.
std::optional<std::string> why_no_winners(SQLite::Database& db) {
  const std::int64_t devices = count(db, "SELECT count(*) FROM devices");
  if (devices != 1) return "is of " + std::to_string(devices) + " devices, not of one";
  if (count(db, "SELECT count(*) FROM measurements") == 0) return "holds no winner";
  SQLite::Statement other(
      db, std::string("SELECT p.text FROM measurements m JOIN problems p ON p.id = m.problem_id "
                      "WHERE NOT (") +
              kIsFinalist + ") LIMIT 1");
  if (other.executeStep()) {
    return "holds a row of " + excerpt(other.getColumn(0).getString()) +
           " that is no winner of finals: ranked and verified";
  }
  SQLite::Statement twice(
      db,
      "SELECT p.text FROM measurements m JOIN problems p ON p.id = m.problem_id "
      "GROUP BY p.id HAVING count(*) > 1 LIMIT 1");
  if (twice.executeStep()) {
    return "holds more than one row of " + excerpt(twice.getColumn(0).getString());
  }
  if (count(db, "SELECT count(*) FROM runs WHERE host IS NOT NULL OR command <> ''") > 0) {
    return "names a host or a command line: leave them out, since the file may become public";
  }
  return std::nullopt;
}

// Texts that a terminal or a page would show otherwise than they are.
std::optional<std::string> why_hostile(SQLite::Database& db) {
  for (const Part& part : parts()) {
    SQLite::Statement rows(db, std::string("SELECT * FROM ") + part.table);
    while (rows.executeStep()) {
      for (int i = 0; i < rows.getColumnCount(); ++i) {
        const SQLite::Column column = rows.getColumn(i);
        const std::string name = column.getName();
        if (!column.isText() || name == "samples") continue;
        const std::string text = column.getString();
        const std::string place = std::string("holds in ") + part.table + " a " + name + " that ";
        if (text.size() > kLongestText) {
          return place + "is longer than " + std::to_string(kLongestText) + " bytes";
        }
        if (printable(text) != text) return place + "is not printable: " + printable(text);
      }
    }
  }
  return std::nullopt;
}

std::size_t first_other_line(const std::string& a, const std::string& b) {
  const std::size_t shorter = std::min(a.size(), b.size());
  const auto differs = static_cast<std::size_t>(
      std::mismatch(a.data(), a.data() + shorter, b.data()).first - a.data());
  return 1 + static_cast<std::size_t>(std::count(a.data(), a.data() + differs, '\n'));
}

}  // namespace

std::vector<Contribution> contributions(const fs::path& database,
                                        const std::optional<std::string>& arch,
                                        const KernelRevisions& revisions, const LockWait& lock) {
  MemoryDatabase copy;
  const fs::path from = absolute_path(database);
  copy.add_file(from, revisions, lock);
  return guarded(from, [&] {
    keep_winners(copy.db(), revisions);
    copy.drop_unreferenced();
    copy.db().exec("UPDATE runs SET host = NULL, command = ''");
    if (const auto why = why_hostile(copy.db())) {
      throw UsageError("database '" + from.string() + "' " + *why);
    }
    std::vector<Contribution> found;
    std::map<std::string, DeviceKey> files;
    for (const DeviceKey& device : devices_of(copy.db())) {
      if (arch && device.arch != *arch) continue;
      const std::string name = file_name_of(device);
      const auto [same, is_new] = files.try_emplace(name, device);
      if (!is_new) {
        throw UsageError("'" + excerpt(same->second.name) + "' and '" + excerpt(device.name) +
                         "' would have one file, '" + name + "'");
      }
      SQLite::Statement winners(
          copy.db(),
          "SELECT count(*) FROM measurements m JOIN devices d ON d.id = m.device_id "
          "WHERE d.arch = :arch AND d.name = :name AND d.sm_count = :sms");
      bind_device(winners, device);
      winners.executeStep();
      found.push_back({device, name, text_of(copy.db(), device), winners.getColumn(0).getInt64()});
    }
    if (!found.empty()) return found;
    throw NothingFound("database '" + from.string() + "' has no winner of finals" +
                       (arch ? " for " + excerpt(*arch) : "") +
                       " by today's kernels: only these are handed on");
  });
}

CheckedContribution check_contribution(const std::string& text, const fs::path& file,
                                       const KernelRevisions& revisions) {
  const std::string name = file.string(), quoted = "'" + name + "' ";
  MemoryDatabase copy;
  SQLite::Database& db = copy.db();
  read_rows(text, name, db);
  return guarded(file, [&] {
    copy.drop_unreferenced();
    for (const auto& why : {why_no_winners(db), why_hostile(db)}) {
      if (why) throw UsageError(quoted + *why);
    }
    CheckedContribution checked;
    checked.device = devices_of(db).front();
    const std::string expected = file_name_of(checked.device);
    if (file.filename() != expected) {
      throw UsageError(quoted + "is of " + excerpt(checked.device.name) + ": name it '" + expected +
                       "'");
    }
    const std::string canonical = text_of(db, checked.device);
    if (canonical != text) {
      throw UsageError(quoted + "is not as `gemm-tune db contribute` writes it from line " +
                       std::to_string(first_other_line(canonical, text)) +
                       " on: import it and contribute anew");
    }
    SQLite::Statement rows(db, R"sql(
      SELECT c.config, c.revision
      FROM measurements m JOIN candidates c ON c.id = m.candidate_id)sql");
    while (rows.executeStep()) {
      ++checked.winners;
      const std::string config = rows.getColumn(0).getString();
      if (!why_stale(config, rows.getColumn(1).getString(), revisions)) ++checked.valid;
    }
    return checked;
  });
}

}  // namespace gemm_tune
