// SPDX-License-Identifier: Apache-2.0
// Stores runs and their rows in the file.
#include <sqlite3.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "core/random_word.h"
#include "core/text/printable.h"
#include "db/database_impl.h"
#include "db/schema/rows.h"
#include "db/schema/soundness.h"
#include "db/validity/counting.h"

namespace gemm_tune {
namespace {

namespace fs = std::filesystem;

constexpr const char* kInsertMeasurement = R"sql(
  INSERT INTO measurements (
    device_id, problem_id, candidate_id, run_id, counts, disposition, reason, source, registers,
    spill_bytes, stack_bytes, smem_bytes, ctas_per_sm, median_us, samples, launches_per_sample,
    cold_us, error, rank, cold_rank, tied, verified, sm_mhz, power_w, temperature_c, disturbance,
    predicted_us, compile_s, gpu_s, recorded_at)
  VALUES (
    :device, :problem, :candidate, :run, 0, :disposition, nullif(:reason, ''), :source, :registers,
    :spill_bytes, :stack_bytes, :smem_bytes, :ctas_per_sm, :median_us, :samples,
    :launches_per_sample, :cold_us, :error, :rank, :cold_rank, :tied, :verified, :sm_mhz, :power_w,
    :temperature_c, :disturbance, :predicted_us, :compile_s, :gpu_s,
    -- A clock that was set back makes no row earlier than those before it: the latest one counts.
    max(:now, coalesce((SELECT max(recorded_at) FROM measurements
                        WHERE device_id = :device AND problem_id = :problem
                          AND candidate_id = :candidate AND source = :source), ''))))sql";

// Uses a compiled statement: clears old values before, releases locks after.
class InUse {
 public:
  explicit InUse(SQLite::Statement& statement) : statement_(statement) {
    statement_.clearBindings();
  }
  ~InUse() { statement_.tryReset(); }
  InUse(const InUse&) = delete;
  InUse& operator=(const InUse&) = delete;
  SQLite::Statement* operator->() { return &statement_; }
  SQLite::Statement& operator*() { return statement_; }

 private:
  SQLite::Statement& statement_;
};

// Bytes; a compiler's log may be longer.
constexpr std::size_t kLongestReason = 100'000;

// Replaces invalid bytes: a command line may hold any bytes, but the stored text must be UTF-8.
std::string valid_utf8(const std::string& bytes) {
  using nlohmann::json;
  return json::parse(json(bytes).dump(-1, ' ', false, json::error_handler_t::replace));
}

// As rows have it. Throws DatabaseError where no reader would take the row.
std::string moment_now(const fs::path& path, SQLite::Database& db) {
  std::string now = db.execAndGet("SELECT strftime('%Y-%m-%dT%H:%M:%fZ', 'now')").getString();
  if (is_moment(now)) return now;
  throw database_error(
      path, "takes no rows of '" + now + "', which the system's clock says: set the clock");
}

// A version 4 UUID: RFC 9562, section 5.4.
std::string random_uuid() {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string uuid = "xxxxxxxx-xxxx-4xxx-8xxx-xxxxxxxxxxxx";
  for (char& digit : uuid) {
    if (digit == 'x') digit = kDigits[random_word() % 16];
  }
  return uuid;
}

// A write transaction, or a part of the enclosing transaction.
class Write {
 public:
  explicit Write(SQLite::Database& db) {
    if (sqlite3_get_autocommit(db.getHandle()) != 0) {
      transaction_.emplace(db, SQLite::TransactionBehavior::IMMEDIATE);
    }
  }
  void commit() {
    if (transaction_) transaction_->commit();
  }

 private:
  std::optional<SQLite::Transaction> transaction_;
};

// Throws DatabaseError unless the values, of one row, can be read back.
template <class... T>
void require_sound(const fs::path& path, const T&... values) {
  if (const auto fault = why_unsound(values...)) {
    throw database_error(path, "refuses a row: " + *fault);
  }
}

// The id in the statement's row; nullopt if there is no row.
std::optional<std::int64_t> id_from(SQLite::Statement& statement) {
  if (!statement.executeStep()) return std::nullopt;
  return statement.getColumn(0).getInt64();
}

// Call inside a transaction, so that no other process comes between the two statements.
std::int64_t device_id(Statements& statements, const DeviceKey& device) {
  const auto run = [&](SQLite::Statement& statement) {
    InUse use(statement);
    bind_device(*use, device);
    return id_from(*use);
  };
  const auto id = run(statements.find_device);
  return id ? *id : run(statements.insert_device).value();
}

std::int64_t problem_id(Statements& statements, const Problem& problem) {
  {
    InUse find(statements.find_problem);
    find->bind(":text", to_string(problem));
    if (const auto id = id_from(*find)) return *id;
  }
  InUse insert(statements.insert_problem);
  bind_problem(*insert, problem);
  return id_from(*insert).value();
}

std::int64_t candidate_id(Statements& statements, const std::string& config,
                          const std::string& revision) {
  {
    InUse find(statements.find_candidate);
    find->bind(":config", config);
    find->bind(":revision", revision);
    if (const auto id = id_from(*find)) return *id;
  }
  InUse insert(statements.insert_candidate);
  bind_candidate(*insert, config, revision);
  return id_from(*insert).value();
}

}  // namespace

Statements::Statements(SQLite::Database& db)
    : find_device(db,
                  "SELECT id FROM devices WHERE arch = :arch AND name = :name AND "
                  "sm_count = :sms"),
      insert_device(db,
                    "INSERT INTO devices (arch, name, sm_count) VALUES (:arch, :name, :sms) "
                    "RETURNING id"),
      find_problem(db, "SELECT id FROM problems WHERE text = :text"),
      insert_problem(db, std::string(kInsertProblem) + " RETURNING id"),
      find_candidate(db,
                     "SELECT id FROM main.candidates WHERE config = :config AND revision = "
                     ":revision"),
      insert_candidate(db, std::string(kInsertCandidate) + " RETURNING id"),
      insert_measurement(db, kInsertMeasurement),
      recount(db, std::string(kRecount) + kOfCandidate) {}

void Database::begin_run(const RunInfo& run, const KernelRevisions& built_in) {
  guarded(impl_->path, [&] {
    Write transaction(impl_->db);
    SQLite::Statement insert(impl_->db, R"sql(
      INSERT INTO runs (uuid, host, tool_version, cuda_version, driver_version, power_limit_w,
                        memory_mhz, mig_slice, command, seed, started_at)
      VALUES (:uuid, nullif(:host, ''), :tool, :cuda, nullif(:driver, ''), :power_limit_w,
              :memory_mhz, nullif(:mig_slice, ''), :command, :seed, :now))sql");
    // Of a run, seconds suffice.
    insert.bind(":now", moment_now(impl_->path, impl_->db).substr(0, 19) + "Z");
    insert.bind(":uuid", run.uuid.empty() ? random_uuid() : run.uuid);
    insert.bind(":host", run.host);
    insert.bind(":tool", run.tool_version);
    insert.bind(":cuda", run.cuda_version);
    insert.bind(":driver", run.driver_version);
    if (run.gpu.power_limit_w) insert.bind(":power_limit_w", *run.gpu.power_limit_w);
    if (run.gpu.memory_mhz) insert.bind(":memory_mhz", *run.gpu.memory_mhz);
    insert.bind(":mig_slice", run.gpu.mig_slice);
    insert.bind(":command", valid_utf8(excerpt(run.command, kLongestReason)));
    insert.bind(":seed", std::to_string(run.seed));
    insert.exec();
    const std::int64_t id = impl_->db.getLastInsertRowid();
    if (!built_in.empty()) set_families(impl_->db, built_in);
    transaction.commit();
    impl_->run_id = id;
    impl_->run_file = file_id(impl_->path);
  });
}

void Database::store_baseline(const DeviceKey& device, const Problem& problem,
                              const Baseline& baseline) {
  const std::int64_t run = impl_->current_run();
  require_sound(impl_->path, device);
  require_sound(impl_->path, device, problem, baseline);
  guarded(impl_->path, [&] {
    SQLite::Database& db = impl_->db;
    Write transaction(db);
    const std::int64_t device_row = device_id(impl_->statements(), device),
                       problem_row = problem_id(impl_->statements(), problem);
    SQLite::Statement insert(db, R"sql(
      INSERT OR REPLACE INTO baselines (
        device_id, problem_id, run_id, name, library_version, algorithms, median_us, samples,
        launches_per_sample, cold_us, error, sm_mhz, power_w, temperature_c, disturbance,
        recorded_at)
      VALUES (:device, :problem, :run, :name, :library_version, :algorithms, :median_us, :samples,
              :launches_per_sample, :cold_us, :error, :sm_mhz, :power_w, :temperature_c,
              :disturbance, :now))sql");
    insert.bind(":now", moment_now(impl_->path, db));
    insert.bind(":device", device_row);
    insert.bind(":problem", problem_row);
    insert.bind(":run", run);
    insert.bind(":name", baseline.name);
    insert.bind(":library_version", baseline.library_version);
    if (baseline.algorithms) insert.bind(":algorithms", *baseline.algorithms);
    bind_timing(insert, baseline.timing);
    if (baseline.error) insert.bind(":error", *baseline.error);
    insert.exec();
    transaction.commit();
  });
}

void Database::store(const DeviceKey& device, const Problem& problem, const std::string& config,
                     const std::string& revision, const Outcome& stored, Source source) {
  const std::int64_t run = impl_->current_run();
  Outcome outcome = stored;
  outcome.detail = valid_utf8(excerpt(outcome.detail, kLongestReason));
  // The model gives infinity for a kernel that cannot run: no time is stored.
  if (outcome.predicted_us && !std::isfinite(*outcome.predicted_us)) outcome.predicted_us.reset();
  require_sound(impl_->path,
                Record{device, problem, config, revision, outcome, source, {}, {}, {}});
  guarded(impl_->path, [&] {
    Statements& statements = impl_->statements();
    Write transaction(impl_->db);
    InUse row(statements.insert_measurement), recount(statements.recount);
    const auto bind = [&](const char* name, std::int64_t id) {
      row->bind(name, id);
      recount->bind(name, id);
    };
    bind(":device", device_id(statements, device));
    bind(":problem", problem_id(statements, problem));
    bind(":candidate", candidate_id(statements, config, revision));
    row->bind(":run", run);
    row->bind(":now", moment_now(impl_->path, impl_->db));
    row->bind(":disposition", std::string(to_string(outcome.disposition)));
    row->bind(":reason", outcome.detail);
    row->bind(":source", std::string(to_string(source)));
    recount->bind(":source", std::string(to_string(source)));
    bind_resources(*row, outcome.resources);
    if (outcome.timing) bind_timing(*row, *outcome.timing);
    if (outcome.ranking) bind_ranking(*row, *outcome.ranking);
    if (outcome.predicted_us) row->bind(":predicted_us", *outcome.predicted_us);
    if (outcome.compile_s) row->bind(":compile_s", *outcome.compile_s);
    if (outcome.gpu_s) row->bind(":gpu_s", *outcome.gpu_s);
    if (outcome.error) row->bind(":error", *outcome.error);
    row->exec();
    recount->exec();
    transaction.commit();
  });
}

void Database::together(const std::function<void()>& writes) {
  guarded(impl_->path, [&] {
    Write transaction(impl_->db);
    writes();
    transaction.commit();
  });
}

void Database::confirm_stored() {
  impl_->current_run();
  if (impl_->run_file && file_id(impl_->path) == impl_->run_file) return;
  // A moved file leaves its log behind: it gets the log's rows here.
  impl_->db.tryExec("PRAGMA wal_checkpoint(TRUNCATE)");
  throw moved_away(impl_->path);
}

}  // namespace gemm_tune
