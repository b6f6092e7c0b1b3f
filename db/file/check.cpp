// SPDX-License-Identifier: Apache-2.0
#include "db/file/check.h"

#include <SQLiteCpp/SQLiteCpp.h>
#include <sqlite3.h>

#include <map>
#include <optional>
#include <string>

#include "core/error.h"
#include "core/text/printable.h"
#include "core/text/shell_quote.h"
#include "db/file/database_file.h"
#include "db/file/row_check.h"
#include "db/schema/rows.h"
#include "db/schema/schema.h"
#include "db/schema/schema_check.h"
#include "db/schema/soundness.h"
#include "kernel_templates/registry/registry.h"

namespace gemm_tune {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostFindings = 100;

using Findings = std::vector<std::string>;

void add(Findings& findings, const std::string& finding) {
  if (findings.size() > kMostFindings) return;
  findings.push_back(findings.size() < kMostFindings ? finding : "and more");
}

// Reports damage that ends a part of the check as a finding; throws for a lock or a failing disk.
template <class F>
void part(const fs::path& path, Findings& findings, const F& look) {
  try {
    look();
  } catch (const SQLite::Exception& error) {
    const int code = error.getErrorCode();
    if (code != SQLITE_CORRUPT && code != SQLITE_NOTADB && code != SQLITE_ERROR &&
        code != SQLITE_CONSTRAINT) {
      throw translated(path, error);
    }
    if (findings.empty()) add(findings, printable(error.what(), kLongestFault));
  }
}

// Whether the tables are ours, so that reading them executes only SQLite's own code.
bool check_definitions(SQLite::Database& db, Findings& findings) {
  const SchemaComparison schema = compare_schema(db);
  for (const std::string& fault : schema.faults) add(findings, fault);
  return schema.faults.empty();
}

void check_pages(SQLite::Database& db, const std::string& pragma, Findings& findings) {
  SQLite::Statement integrity(db, pragma);
  while (integrity.executeStep()) {
    const std::string line = integrity.getColumn(0).getString();
    if (line != "ok") add(findings, line);
  }
}

// Checks only our tables if the file has others: the others' constraints may never end.
void check_pages(SQLite::Database& db, Findings& findings) {
  if (compare_schema(db).foreign.empty()) {
    return check_pages(db, "PRAGMA integrity_check", findings);
  }
  for (const std::string& table : schema_tables()) {
    check_pages(db, "PRAGMA integrity_check(" + table + ")", findings);
  }
}

void check_references(SQLite::Database& db, Findings& findings) {
  SQLite::Statement references(db, "PRAGMA foreign_key_check");
  while (references.executeStep()) {
    add(findings, references.getColumn(0).getString() + " row " +
                      references.getColumn(1).getString() + " refers to a row of " +
                      references.getColumn(2).getString() + " that does not exist");
  }
}

void check_problems(SQLite::Database& db, Findings& findings) {
  SQLite::Statement problems(db, select_problem());
  while (problems.executeStep()) {
    if (is_sound_problem(problems)) continue;
    add(findings,
        "problems row " + problems.getColumn(0).getString() + ": its text and its numbers differ");
  }
}

// Reads each row by the program's own reader. id_column: the column of the row's id.
template <class Read>
void check_rows(SQLite::Database& db, const std::string& table, const char* select, int id_column,
                const Read& read, Findings& findings) {
  SQLite::Statement rows(db, select);
  while (rows.executeStep()) {
    try {
      read(rows);
    } catch (const Error& error) {
      add(findings, table + " row " + rows.getColumn(id_column).getString() + ": " + error.what());
    }
  }
}

// Throws Error where a record's config has other element types than its problem: no run tries it.
class TypeCheck {
 public:
  void operator()(const Record& record) {
    const auto [known, is_new] = types_.try_emplace(record.config);
    if (is_new) known->second = types_of(record.config);
    const Signature& wanted = record.problem.signature;
    if (!known->second || *known->second == wanted) return;
    throw Error("its config is of " + to_string(*known->second) + ", its problem of " +
                to_string(wanted));
  }

 private:
  // Nothing of a config that this program does not know.
  static std::optional<Signature> types_of(const std::string& config) {
    try {
      return check_config(parse_config(config)).traits.signature;
    } catch (const UsageError&) {
      return std::nullopt;
    }
  }

  std::map<std::string, std::optional<Signature>> types_;  // by config
};

void check_measurements(SQLite::Database& db, Findings& findings) {
  TypeCheck check_types;
  SQLite::Statement ids(db, std::string("SELECT m.id FROM measurements m "
                                        "JOIN problems p ON p.id = m.problem_id WHERE ") +
                                known_problem());
  SQLite::Statement whole(db, select_record() + " WHERE m.id = ?");
  while (ids.executeStep()) {
    whole.bind(1, ids.getColumn(0).getInt64());
    try {
      if (whole.executeStep()) check_types(read_record(whole));
    } catch (const Error& error) {
      add(findings, "measurements row " + ids.getColumn(0).getString() + ": " + error.what());
    }
    whole.reset();
  }
}

void check_counts(SQLite::Database& db, Findings& findings) {
  SQLite::Statement rows(db, R"sql(
    SELECT min(id), total(counts) FROM measurements
    GROUP BY device_id, problem_id, candidate_id, source HAVING total(counts) <> 1)sql");
  while (rows.executeStep()) {
    add(findings, "measurements row " + rows.getColumn(0).getString() +
                      ": of its candidate's rows " + std::to_string(rows.getColumn(1).getInt64()) +
                      " count, not 1");
  }
}

// Winners are looked for by the family, which repeats the config's first part.
void check_families(SQLite::Database& db, Findings& findings) {
  SQLite::Statement rows(db, R"sql(
    SELECT id FROM candidates WHERE family <> substr(config, 1, instr(config, '/') - 1))sql");
  while (rows.executeStep()) {
    add(findings,
        "candidates row " + rows.getColumn(0).getString() + ": its family and its config differ");
  }
}

// table, column: of moments, which no reader above judges.
void check_moments(SQLite::Database& db, const std::string& table, const std::string& column,
                   Findings& findings) {
  SQLite::Statement rows(db, "SELECT id, " + column + " FROM " + table);
  while (rows.executeStep()) {
    if (is_moment(rows.getColumn(1).getString())) continue;
    add(findings, table + " row " + rows.getColumn(0).getString() + ": its " + column +
                      " is no moment as in 2026-01-31T12:00:00.000Z");
  }
}

// No value is a blob. A text that is one for a wrong bit in its type is still read as a text.
void check_blobs(SQLite::Database& db, Findings& findings) {
  for (const std::string& table : exported_tables()) {
    std::string blob = "CASE";
    SQLite::Statement columns(db, "SELECT name FROM pragma_table_info('" + table + "')");
    while (columns.executeStep()) {
      const std::string name = columns.getColumn(0).getString();
      blob += " WHEN typeof(" + name + ") = 'blob' THEN '" + name + "'";
    }
    SQLite::Statement rows(
        db, "SELECT id, " + blob + " END AS blob FROM " + table + " WHERE blob IS NOT NULL");
    while (rows.executeStep()) {
      add(findings, table + " row " + rows.getColumn(0).getString() + ": its " +
                        rows.getColumn(1).getString() + " is a blob");
    }
  }
}

void check_values(const fs::path& path, SQLite::Database& db, Findings& findings) {
  part(path, findings, [&] { check_problems(db, findings); });
  part(path, findings, [&] {
    check_rows(db, "devices", kSelectDevice, kDeviceIdColumn, read_device_key, findings);
  });
  part(path, findings, [&] {
    check_rows(db, "baselines", kSelectBaseline.c_str(), kBaselineIdColumn, read_baseline,
               findings);
  });
  part(path, findings, [&] { check_measurements(db, findings); });
  part(path, findings, [&] { check_families(db, findings); });
  part(path, findings, [&] { check_blobs(db, findings); });
  part(path, findings, [&] { check_moments(db, "runs", "started_at", findings); });
  part(path, findings, [&] { check_moments(db, "baselines", "recorded_at", findings); });
}

// Parses the schema as an ordinary connection does, which is stricter than a connection for damaged
// files. Must come last: the connection stays strict from here on.
void check_schema(SQLite::Database& db) {
  db.exec("PRAGMA writable_schema = RESET");
  const SQLite::Statement select(db, select_problem());
}

}  // namespace

std::vector<std::string> check_rows_of(const fs::path& path, SQLite::Database& db) {
  Findings findings;
  part(path, findings, [&] { check_references(db, findings); });
  check_values(path, db, findings);
  return findings;
}

std::vector<std::string> check_database(const fs::path& file, const LockWait& lock) {
  const fs::path path = absolute_path(file);
  SQLite::Database db = open_unchecked(path, lock);
  Findings findings;
  bool is_ours = false;
  part(path, findings, [&] {
    if (const auto shortfall = why_truncated(path, db)) add(findings, *shortfall);
  });
  part(path, findings, [&] { is_ours = check_definitions(db, findings); });
  if (!is_ours) return findings;
  part(path, findings, [&] { check_pages(db, findings); });
  part(path, findings, [&] { check_references(db, findings); });
  check_values(path, db, findings);
  part(path, findings, [&] { check_counts(db, findings); });
  part(path, findings, [&] { check_schema(db); });
  return findings;
}

// Not .recover: it reads the table sqlite_dbpage, which the sqlite3 of Debian 12 and Ubuntu 24.04
// lacks, and leaves an empty file there. .clone copies no pragmas.
std::string recovery_command(const fs::path& file) {
  return "sqlite3 " + shell_quote(file.string()) + " '.clone NEW' '.open NEW' " +
         "'PRAGMA application_id=" + std::to_string(kApplicationId) +
         "; PRAGMA user_version=" + std::to_string(kSchemaVersion) + "'";
}

std::vector<std::string> foreign_objects(const fs::path& file, const LockWait& lock) {
  const fs::path path = absolute_path(file);
  SQLite::Database db = open_unchecked(path, lock);
  try {
    return compare_schema(db).foreign;
  } catch (const SQLite::Exception& error) {
    throw translated(path, error);
  }
}

}  // namespace gemm_tune
