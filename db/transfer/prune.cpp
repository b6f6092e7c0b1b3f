// SPDX-License-Identifier: Apache-2.0
#include "db/transfer/prune.h"

#include "core/error.h"
#include "core/text/printable.h"
#include "db/database_impl.h"
#include "db/file/database_file.h"
#include "db/transfer/row_transfer.h"
#include "db/validity/stale_candidates.h"

namespace gemm_tune {
namespace {

namespace fs = std::filesystem;

// Adds to temp.pruned the rows of a query of ids and reasons.
void mark(SQLite::Database& db, const std::string& query) {
  db.exec("INSERT OR IGNORE INTO temp.pruned " + query);
}

void mark_device(SQLite::Database& db, const std::string& name) {
  SQLite::Statement known(db, "SELECT count(*) FROM devices WHERE name = ?1 OR arch = ?1");
  known.bind(1, name);
  known.executeStep();
  if (known.getColumn(0).getInt() == 0) {
    throw UsageError("'" + excerpt(name) +
                     "' is no device or architecture of the database: `gemm-tune db info` lists "
                     "them");
  }
  SQLite::Statement rows(db, R"sql(
    INSERT OR IGNORE INTO temp.pruned
    SELECT m.id, 'of ' || ?1 FROM measurements m JOIN devices d ON d.id = m.device_id
    WHERE d.name = ?1 OR d.arch = ?1)sql");
  rows.bind(1, name);
  rows.exec();
}

void mark_stale(SQLite::Database& db, const KernelRevisions& revisions) {
  db.exec("CREATE TEMP TABLE stale (candidate_id INTEGER PRIMARY KEY, why TEXT)");
  SQLite::Statement insert(db, "INSERT INTO temp.stale VALUES (?, ?)");
  for (const StaleCandidate& stale : stale_candidates(db, revisions)) {
    insert.bind(1, stale.id);
    insert.bind(2, "stale: " + stale.why);
    insert.exec();
    insert.reset();
  }
  mark(db, "SELECT m.id, s.why FROM measurements m JOIN temp.stale s USING (candidate_id)");
}

void mark_failures(SQLite::Database& db) {
  mark(db, R"sql(
    SELECT id, 'of failed candidates' FROM measurements
    WHERE disposition <> 'ok'
       OR (device_id, problem_id, candidate_id, source) IN (
            SELECT device_id, problem_id, candidate_id, source FROM measurements
            WHERE counts = 1 AND disposition <> 'ok'))sql");
}

PruneReport report_of(SQLite::Database& db) {
  PruneReport report;
  SQLite::Statement reasons(db, "SELECT why, count(*) FROM temp.pruned GROUP BY why ORDER BY why");
  while (reasons.executeStep()) {
    report.removed.emplace_back(reasons.getColumn(0).getString(), reasons.getColumn(1).getInt64());
  }
  report.kept = db.execAndGet(R"sql(
    SELECT count(*) FROM measurements WHERE id NOT IN (SELECT id FROM temp.pruned))sql")
                    .getInt64();
  return report;
}

}  // namespace

PruneReport prune_database(const fs::path& database, const PruneRule& rule,
                           const KernelRevisions& revisions, const std::optional<fs::path>& output,
                           const LockWait& lock) {
  const fs::path from = absolute_path(database);
  if (output) require_new(absolute_path(*output));
  MemoryDatabase copy;
  copy.add_file(from, revisions, lock);
  return guarded(from, [&] {
    SQLite::Database& db = copy.db();
    db.exec("CREATE TEMP TABLE pruned (id INTEGER PRIMARY KEY, why TEXT)");
    for (const std::string& name : rule.of) mark_device(db, name);
    if (rule.stale) mark_stale(db, revisions);
    if (rule.failures) mark_failures(db);
    const PruneReport report = report_of(db);
    if (!output) return report;
    db.exec("DELETE FROM measurements WHERE id IN (SELECT id FROM temp.pruned)");
    copy.drop_unreferenced();
    const fs::path to = absolute_path(*output);
    change_database(to, lock, [&](SQLite::Database& file) {
      transfer_rows({{from, &db}}, {to, &file}, revisions);
    });
    return report;
  });
}

}  // namespace gemm_tune
