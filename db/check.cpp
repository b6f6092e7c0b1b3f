#include "db/check.h"

#include <SQLiteCpp/SQLiteCpp.h>
#include <sqlite3.h>

#include <chrono>

#include "core/config.h"
#include "core/error.h"
#include "db/database_file.h"
#include "db/rows.h"

namespace gemm_tune {
namespace {

namespace fs = std::filesystem;

constexpr std::chrono::milliseconds kLockTimeout{30000};
constexpr std::size_t kMostFindings = 100;

using Findings = std::vector<std::string>;

void add(Findings& findings, const std::string& finding) {
  if (findings.size() > kMostFindings) return;
  findings.push_back(findings.size() < kMostFindings ? finding : "and more");
}

// Whatever damage ends a part of the check is itself a finding; a lock or a failing disk is not.
template <class F>
void part(const fs::path& path, Findings& findings, const F& look) {
  try {
    look();
  } catch (const SQLite::Exception& error) {
    const int code = error.getErrorCode();
    if (code != SQLITE_CORRUPT && code != SQLITE_NOTADB && code != SQLITE_ERROR) {
      throw translated(path, error);
    }
    if (findings.empty()) add(findings, error.what());
  }
}

void check_pages(SQLite::Database& db, Findings& findings) {
  SQLite::Statement integrity(db, "PRAGMA integrity_check");
  while (integrity.executeStep()) {
    const std::string line = integrity.getColumn(0).getString();
    if (line != "ok") add(findings, line);
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
  SQLite::Statement problems(db, kSelectProblem);
  while (problems.executeStep()) {
    if (is_sound_problem(problems)) continue;
    add(findings,
        "problems row " + problems.getColumn(0).getString() + ": its text and its numbers differ");
  }
}

void check_candidates(SQLite::Database& db, Findings& findings) {
  SQLite::Statement ids(db, std::string("SELECT c.id FROM candidates c "
                                        "JOIN problems p ON p.id = c.problem_id WHERE ") +
                                kKnownProblem);
  SQLite::Statement whole(db, std::string(kSelectRecord) + " WHERE c.id = ?");
  while (ids.executeStep()) {
    whole.bind(1, ids.getColumn(0).getInt64());
    try {
      if (whole.executeStep()) parse_config(read_record(whole).config);
    } catch (const Error& error) {
      add(findings, "candidates row " + ids.getColumn(0).getString() + ": " + error.what());
    }
    whole.reset();
  }
}

// As an ordinary connection parses it: stricter than one that is to read damaged files. Last, since
// the connection is one from here on.
void check_schema(SQLite::Database& db) {
  db.exec("PRAGMA writable_schema = RESET");
  const SQLite::Statement select(db, kSelectRecord);
}

}  // namespace

std::vector<std::string> check_database(const fs::path& file) {
  const fs::path path = absolute_path(file);
  SQLite::Database db = open_unchecked(path, kLockTimeout);
  Findings findings;
  part(path, findings, [&] {
    if (const auto shortfall = why_truncated(path, db)) add(findings, *shortfall);
  });
  part(path, findings, [&] { check_pages(db, findings); });
  part(path, findings, [&] { check_references(db, findings); });
  part(path, findings, [&] { check_problems(db, findings); });
  part(path, findings, [&] { check_candidates(db, findings); });
  part(path, findings, [&] { check_schema(db); });
  return findings;
}

}  // namespace gemm_tune
