// SPDX-License-Identifier: Apache-2.0
#include "db/upgrade.h"

#include <sqlite3.h>

#include <string>

#include "core/fnv1a.h"
#include "core/printable.h"
#include "db/counting.h"
#include "db/database_file.h"
#include "db/schema.h"
#include "db/schema_check.h"
#include "kernel_templates/source.h"

namespace gemm_tune {
namespace {

// A UUID of version 8 (RFC 9562, section 5.8) from the whole row: equal in every copy of the row.
std::string uuid_of(SQLite::Statement& run) {
  Fnv1a high, low;
  low.add("gemm-tune run");
  for (int i = 0; i < run.getColumnCount(); ++i) {
    high.add(run.getColumn(i).getString());
    low.add(run.getColumn(i).getString());
  }
  std::string hex = high.hex() + low.hex();
  hex[12] = '8';
  hex[16] = '8';
  return hex.substr(0, 8) + "-" + hex.substr(8, 4) + "-" + hex.substr(12, 4) + "-" +
         hex.substr(16, 4) + "-" + hex.substr(20);
}

void copy_runs(SQLite::Database& db) {
  SQLite::Statement runs(db,
                         "SELECT id, tool_version, cuda_version, driver_version, command, seed, "
                         "started_at FROM version_1_runs");
  SQLite::Statement insert(db, R"sql(
    INSERT INTO runs (id, uuid, tool_version, cuda_version, driver_version, command, seed, started_at)
    SELECT id, :uuid, tool_version, cuda_version, driver_version, command, seed, started_at
    FROM version_1_runs WHERE id = :id)sql");
  while (runs.executeStep()) {
    insert.bind(":uuid", uuid_of(runs));
    insert.bind(":id", runs.getColumn(0).getInt64());
    insert.exec();
    insert.reset();
  }
}

// version_1_kernels maps (family, hash in version 1) to kernels.
void copy_kernels(SQLite::Database& db) {
  db.exec(R"sql(
    CREATE TABLE version_1_kernels (family TEXT, hash TEXT, kernel_id INTEGER,
                                    PRIMARY KEY (family, hash)))sql");
  SQLite::Statement kernels(db, R"sql(
    SELECT DISTINCT substr(config, 1, instr(config, '/') - 1), kernel_hash
    FROM version_1_candidates ORDER BY 1, 2)sql");
  SQLite::Statement insert(db,
                           "INSERT OR IGNORE INTO kernels (family, hash, tokens, is_current) "
                           "VALUES (:family, :hash, :tokens, 0)");
  SQLite::Statement map(db, R"sql(
    INSERT INTO version_1_kernels
    SELECT :family, :old, id FROM kernels WHERE family = :family AND hash = :hash)sql");
  while (kernels.executeStep()) {
    const std::string family = kernels.getColumn(0).getString(),
                      old = kernels.getColumn(1).getString();
    const std::string hash = identity_of_version_1(family, old).value_or(old);
    insert.bind(":family", family);
    insert.bind(":hash", hash);
    insert.bind(":tokens");
    if (const auto tokens = earlier_tokens(family, hash)) insert.bind(":tokens", *tokens);
    insert.exec();
    insert.reset();
    map.bind(":family", family);
    map.bind(":old", old);
    map.bind(":hash", hash);
    map.exec();
    map.reset();
  }
}

constexpr const char* kCopyRows = R"sql(
  INSERT INTO devices SELECT id, arch, name, sm_count FROM version_1_devices;
  INSERT INTO problems
    SELECT id, text, M, N, K, type_a, type_b, type_c, type_compute, layout, alignment, batch
    FROM version_1_problems;
  INSERT INTO configs (text) SELECT DISTINCT config FROM version_1_candidates ORDER BY config;
  INSERT INTO baselines (
    id, device_id, problem_id, run_id, name, median_us, samples, launches_per_sample, cold_us, sm_mhz,
    power_w, temperature_c, disturbance, recorded_at)
    SELECT b.id, b.device_id, b.problem_id, b.run_id, b.name, b.median_us, b.samples,
           b.launches_per_sample, b.cold_us, b.sm_mhz, b.power_w, b.temperature_c, b.disturbance,
           r.started_at
    FROM version_1_baselines b
    JOIN version_1_runs r ON r.id = b.run_id
)sql";

constexpr const char* kCopyMeasurements = R"sql(
  INSERT INTO measurements (
    id, device_id, problem_id, config_id, kernel_id, run_id, counts, disposition, reason, source,
    registers, spill_bytes, stack_bytes, smem_bytes, ctas_per_sm, median_us, samples,
    launches_per_sample, standing, cold_us, sm_mhz, power_w, temperature_c, disturbance,
    predicted_us, recorded_at)
  SELECT c.id, c.device_id, c.problem_id, f.id, k.kernel_id, c.run_id, 1, c.disposition, c.reason,
         c.source, c.registers, c.spill_bytes, c.stack_bytes, c.smem_bytes, c.ctas_per_sm,
         c.median_us, c.samples, c.launches_per_sample, c.standing, c.cold_us, c.sm_mhz, c.power_w,
         c.temperature_c, c.disturbance, c.predicted_us, c.recorded_at
  FROM version_1_candidates c
  JOIN configs f ON f.text = c.config
  JOIN version_1_kernels k ON k.hash = c.kernel_hash
                          AND k.family = substr(c.config, 1, instr(c.config, '/') - 1)
)sql";

std::string set_aside(int version, const std::string& table) {
  return "version_" + std::to_string(version) + "_" + table;
}

// The user's own views stay, even a view that names a table that is gone.
void set_aside_tables(SQLite::Database& db, int version) {
  db.exec("DROP VIEW IF EXISTS winners; DROP VIEW IF EXISTS outcomes");
  db.exec(
      "DROP INDEX IF EXISTS measurements_of_candidate; DROP INDEX IF EXISTS measurements_by_time");
  db.exec("PRAGMA legacy_alter_table = ON");
  for (const std::string& table : tables_of(version)) {
    db.exec("ALTER TABLE " + table + " RENAME TO " + set_aside(version, table));
  }
  db.exec("PRAGMA legacy_alter_table = OFF");
}

void drop_tables_set_aside(SQLite::Database& db, int version) {
  for (const std::string& table : tables_of(version)) {
    db.exec("DROP TABLE " + set_aside(version, table));
  }
}

void copy_version_1(SQLite::Database& db) {
  db.exec(kCopyRows);
  copy_runs(db);
  copy_kernels(db);
  db.exec(kCopyMeasurements);
  const auto rows = [&](const std::string& table) {
    return db.execAndGet("SELECT count(*) FROM " + table).getInt64();
  };
  if (rows("measurements") != rows("version_1_candidates") ||
      rows("baselines") != rows("version_1_baselines")) {
    throw SQLite::Exception("rows refer to others that do not exist", SQLITE_CORRUPT);
  }
}

// Versions from 2 on have the same tables, each with the same columns or the first of them.
void copy_tables(SQLite::Database& db, int version) {
  for (const std::string& table : tables_of(version)) {
    const std::string from = set_aside(version, table);
    SQLite::Statement columns(
        db, "SELECT group_concat(name, ', ') FROM pragma_table_info('" + from + "')");
    columns.executeStep();
    const std::string names = columns.getColumn(0).getString();
    columns.reset();
    db.exec("INSERT INTO " + table + " (" + names + ") SELECT " + names + " FROM " + from);
  }
}

void upgrade_from_version_1(SQLite::Database& db) {
  set_aside_tables(db, 1);
  db.exec(kSchema);
  copy_version_1(db);
  // Two texts with equal tokens may have been tried with the same config.
  db.exec(kRecount);
  db.exec("DROP TABLE version_1_kernels");
  drop_tables_set_aside(db, 1);
}

void upgrade_from_later_version(SQLite::Database& db, int version) {
  set_aside_tables(db, version);
  db.exec(kSchema);
  copy_tables(db, version);
  drop_tables_set_aside(db, version);
}

int version_of(SQLite::Database& db) { return db.execAndGet("PRAGMA user_version").getInt(); }

}  // namespace

std::optional<std::string> why_not_upgradable(SQLite::Database& db) {
  const int version = version_of(db);
  if (version >= static_cast<int>(kSchemaVersion)) return std::nullopt;
  const std::string number = std::to_string(version);
  std::string names = "lower(name) GLOB 'version_" + number + "_*'";
  if (version == 1) {
    names +=
        " OR lower(name) IN ('configs', 'kernels', 'measurements', 'measurements_of_candidate', "
        "'measurements_by_time')";
  }
  SQLite::Statement taken(db, "SELECT type, name FROM sqlite_schema WHERE " + names + " LIMIT 1");
  if (!taken.executeStep()) return std::nullopt;
  const std::string type = printable(taken.getColumn(0).getString(), kLongestQuote),
                    name = printable(taken.getColumn(1).getString(), kLongestQuote);
  return "is of version " + number + " and cannot be upgraded: its " + type + " '" + name +
         "' is not gemm-tune's and has a name that version " + std::to_string(kSchemaVersion) +
         " takes: rename it, as in sqlite3 FILE " +
         (type == "table" ? "'ALTER TABLE " + name + " RENAME TO my_" + name + "'"
                          : "'DROP " + type + " " + name + "'");
}

void upgrade_schema(SQLite::Database& db) {
  try {
    const int version = version_of(db);
    version == 1 ? upgrade_from_version_1(db) : upgrade_from_later_version(db, version);
  } catch (const SQLite::Exception& error) {
    // No program stored a row that breaks a constraint.
    if (error.getErrorCode() != SQLITE_CONSTRAINT) throw;
    throw SQLite::Exception(error.what(), SQLITE_CORRUPT);
  }
}

std::string select_measurements(SQLite::Database& db) {
  switch (version_of(db)) {
    case 2:
      return "SELECT *, NULL AS error, NULL AS twins_verified FROM main.measurements";
    case 3:
      return "SELECT *, NULL AS twins_verified FROM main.measurements";
    default:
      return "SELECT * FROM main.measurements";
  }
}

void show_as_current(SQLite::Database& db) {
  const int version = version_of(db);
  if (version != 2 && version != 3) return;
  const bool query_only = db.execAndGet("PRAGMA query_only").getInt() != 0;
  if (query_only) db.exec("PRAGMA query_only = OFF");
  db.exec("PRAGMA temp_store = MEMORY");
  db.exec("CREATE TEMP VIEW IF NOT EXISTS measurements AS " + select_measurements(db));
  if (version == 2) {
    db.exec(
        "CREATE TEMP VIEW IF NOT EXISTS baselines AS SELECT *, NULL AS error FROM main.baselines");
  }
  if (query_only) db.exec("PRAGMA query_only = ON");
}

SQLite::Database upgraded_copy(SQLite::Database& db) {
  SQLite::Database copy(":memory:", SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE);
  disarm(copy);
  copy_pages(db, copy);
  // Another process may have upgraded the file meanwhile.
  if (version_of(copy) >= static_cast<int>(kSchemaVersion)) return copy;
  SQLite::Transaction transaction(copy);
  upgrade_schema(copy);
  transaction.commit();
  return copy;
}

}  // namespace gemm_tune
