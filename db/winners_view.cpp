// SPDX-License-Identifier: Apache-2.0
#include "db/winners_view.h"

#include <string>
#include <string_view>

#include "core/error.h"
#include "db/rows.h"
#include "db/schema.h"
#include "db/upgrade.h"

namespace gemm_tune {
namespace {

std::string temporary_view() {
  constexpr std::string_view kBegin = "CREATE VIEW winners", kEnd = ";\n";
  const std::string_view schema = kSchema;
  const std::size_t begin = schema.find(kBegin), end = schema.find(kEnd, begin);
  if (begin == schema.npos || end == schema.npos) throw Error("the schema lacks its view winners");
  return "CREATE TEMP VIEW winners" +
         std::string(schema.substr(begin + kBegin.size(), end - begin - kBegin.size()));
}

}  // namespace

JudgedWinners::JudgedWinners(SQLite::Database& db, const KernelHashes& hashes)
    : db_(db), query_only_(db.execAndGet("PRAGMA query_only").getInt() != 0) {
  db_.exec(R"sql(
    PRAGMA query_only = OFF;
    PRAGMA temp_store = MEMORY;
    CREATE TEMP TABLE kernels AS SELECT id, family, hash, 0 AS is_current FROM main.kernels)sql");
  db_.exec(temporary_view());
  SQLite::Statement mark(
      db_, "UPDATE temp.kernels SET is_current = 1 WHERE family = :family AND hash = :hash");
  for (const auto& [family, hash] : hashes) {
    mark.bind(":family", family);
    mark.bind(":hash", hash);
    mark.exec();
    mark.reset();
  }
}

JudgedWinners::~JudgedWinners() {
  for (const char* drop :
       {"DROP VIEW IF EXISTS temp.measurements", "DROP VIEW IF EXISTS temp.winners",
        "DROP TABLE IF EXISTS temp.refused", "DROP TABLE IF EXISTS temp.within",
        "DROP TABLE IF EXISTS temp.kernels"}) {
    db_.tryExec(drop);
  }
  try {
    show_as_current(db_);
  } catch (const SQLite::Exception&) {
    // The next statement meets the same fault and reports it.
  }
  if (query_only_) db_.tryExec("PRAGMA query_only = ON");
}

void JudgedWinners::take_kernels_with_text() const {
  db_.exec(R"sql(
    UPDATE temp.kernels SET is_current = 1
    WHERE id IN (SELECT id FROM main.kernels WHERE tokens IS NOT NULL))sql");
}

void JudgedWinners::leave_out(const Database::ConfigFilter& usable) const { refuse(usable, ""); }

// A table of the ids, so that the errors are compared once a row. Finals verify the twins of the
// best without a limit of errors, and of the best within that of their own run.
void JudgedWinners::keep_within(double max_error, const Database::ConfigFilter& usable) const {
  db_.exec("CREATE TEMP TABLE within (id INTEGER PRIMARY KEY)");
  SQLite::Statement keep(db_, R"sql(
    INSERT INTO temp.within
    SELECT m.id FROM measurements m
    WHERE m.counts = 1 AND m.disposition = 'ok' AND m.source = 'measured'
      AND m.twins_verified IS NOT 0 AND m.error <= :max_error * (
        SELECT b.error FROM baselines b
        WHERE b.run_id = m.run_id AND b.problem_id = m.problem_id AND b.device_id = m.device_id
          AND b.name GLOB 'cublas[SG]*' AND b.name NOT LIKE '%-autotuned%'))sql");
  keep.bind(":max_error", max_error);
  keep.exec();
  refuse(usable, " AND id IN (SELECT id FROM within)");
}

void JudgedWinners::refuse(const Database::ConfigFilter& usable,
                           const std::string& admitted) const {
  db_.exec(R"sql(
    CREATE TEMP TABLE refused (config_id INTEGER PRIMARY KEY);
    DROP VIEW IF EXISTS temp.measurements)sql");
  db_.exec("CREATE TEMP VIEW measurements AS " + select_measurements(db_) +
           " WHERE config_id NOT IN (SELECT config_id FROM refused)" + admitted);
  if (!usable) return;
  SQLite::Statement configs(db_, "SELECT id, text FROM configs");
  SQLite::Statement refuse(db_, "INSERT INTO temp.refused VALUES (?)");
  while (configs.executeStep()) {
    if (usable(configs.getColumn(1).getString())) continue;
    refuse.bind(1, configs.getColumn(0).getInt64());
    refuse.exec();
    refuse.reset();
  }
}

// CROSS JOIN and the unary plus force the planner's order: the best of each problem first, then
// only their rows. With an index on the devices' names the planner would visit every measurement.
std::string select_winners() {
  return std::string(R"sql(
    SELECT w.measurement_id
    FROM temp.winners w CROSS JOIN problems p ON p.text = w.problem
    WHERE w.arch = :arch AND w.holds = 1 AND )sql") +
         kKnownProblem + " ORDER BY +w.device, w.sm_count, w.M, w.N, w.K, w.problem";
}

}  // namespace gemm_tune
