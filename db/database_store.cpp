// SPDX-License-Identifier: Apache-2.0
// Stores runs and their rows in the file.
#include <sqlite3.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <random>
#include <sstream>

#include "core/printable.h"
#include "db/counting.h"
#include "db/database_impl.h"
#include "db/rows.h"
#include "db/soundness.h"

namespace gemm_tune {
namespace {

namespace fs = std::filesystem;

constexpr const char* kInsertMeasurement = R"sql(
  INSERT INTO measurements (
    device_id, problem_id, config_id, kernel_id, run_id, counts, disposition, reason, source,
    registers, spill_bytes, stack_bytes, smem_bytes, ctas_per_sm, median_us, samples,
    launches_per_sample, standing, cold_us, sm_mhz, power_w, temperature_c, disturbance,
    predicted_us, compile_s, gpu_s, error, twins_verified, recorded_at)
  VALUES (
    :device, :problem, :config, :kernel, :run, 0, :disposition, nullif(:reason, ''), :source,
    :registers, :spill_bytes, :stack_bytes, :smem_bytes, :ctas_per_sm, :median_us, :samples,
    :launches_per_sample, :standing, :cold_us, :sm_mhz, :power_w, :temperature_c, :disturbance,
    :predicted_us, :compile_s, :gpu_s, :error, :twins_verified,
    strftime('%Y-%m-%dT%H:%M:%fZ', 'now')))sql";

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

// A version 4 UUID: RFC 9562, section 5.4.
std::string random_uuid() {
  std::random_device entropy;
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string uuid = "xxxxxxxx-xxxx-4xxx-8xxx-xxxxxxxxxxxx";
  for (char& digit : uuid) {
    if (digit == 'x') digit = kDigits[entropy() % 16];
  }
  return uuid;
}

// "13.1.0" of "cublasSgemm 13.1.0"; empty if the name has no second word.
std::string library_version(const std::string& baseline) {
  std::istringstream words(baseline);
  std::string function, version;
  words >> function >> version;
  return version;
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

// Throws DatabaseError unless the value can be read back.
template <class T>
void require_sound(const fs::path& path, const T& value) {
  if (const auto fault = why_unsound(value)) {
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
    find->bind(":text", to_string(key_of(problem)));
    if (const auto id = id_from(*find)) return *id;
  }
  InUse insert(statements.insert_problem);
  bind_problem(*insert, problem);
  return id_from(*insert).value();
}

std::int64_t config_id(Statements& statements, const std::string& config) {
  const auto run = [&](SQLite::Statement& statement) {
    InUse use(statement);
    use->bind(":text", config);
    return id_from(*use);
  };
  const auto id = run(statements.find_config);
  return id ? *id : run(statements.insert_config).value();
}

std::int64_t kernel_id(Statements& statements, const RunKernels& kernels, const std::string& config,
                       const std::string& hash) {
  const std::string family = config.substr(0, config.find('/'));
  {
    InUse find(statements.find_kernel);
    find->bind(":family", family);
    find->bind(":hash", hash);
    if (const auto id = id_from(*find)) return *id;
  }
  const auto known = kernels.tokens.find({family, hash});
  const bool is_known = known != kernels.tokens.end();
  InUse insert(statements.insert_kernel);
  insert->bind(":family", family);
  insert->bind(":hash", hash);
  if (is_known) insert->bind(":tokens", known->second);
  insert->bind(":is_current", is_known && kernels.built_in ? 1 : 0);
  return id_from(*insert).value();
}

// Marks the kernels that the file's view `winners` uses: those of the program that wrote last.
void mark_current(SQLite::Database& db, const RunKernels& kernels) {
  db.exec("UPDATE main.kernels SET is_current = 0");
  SQLite::Statement mark(
      db,
      "UPDATE main.kernels SET is_current = 1, tokens = coalesce(tokens, :tokens) "
      "WHERE family = :family AND hash = :hash");
  for (const auto& [key, tokens] : kernels.tokens) {
    mark.bind(":tokens", tokens);
    mark.bind(":family", key.first);
    mark.bind(":hash", key.second);
    mark.exec();
    mark.reset();
  }
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
      insert_problem(db, R"sql(
          INSERT INTO problems (text, M, N, K, type_a, type_b, type_c, type_compute, layout,
                                alignment, batch)
          VALUES (:text, :M, :N, :K, :type_ab, :type_ab, :type_c, 'f32', :layout, :alignment,
                  :batch)
          RETURNING id)sql"),
      find_config(db, "SELECT id FROM configs WHERE text = :text"),
      insert_config(db, "INSERT INTO configs (text) VALUES (:text) RETURNING id"),
      find_kernel(db, "SELECT id FROM main.kernels WHERE family = :family AND hash = :hash"),
      insert_kernel(db,
                    "INSERT INTO main.kernels (family, hash, tokens, is_current) "
                    "VALUES (:family, :hash, :tokens, :is_current) RETURNING id"),
      insert_measurement(db, kInsertMeasurement),
      recount(db, std::string(kRecount) + kOfCandidate) {}

void Database::begin_run(const RunInfo& run, std::span<const KernelText> kernels, bool built_in) {
  guarded(impl_->path, [&] {
    Write transaction(impl_->db);
    SQLite::Statement insert(impl_->db, R"sql(
      INSERT INTO runs (uuid, host, tool_version, cuda_version, driver_version, cublas_version,
                        power_limit_w, memory_mhz, mig_slice, command, seed, started_at)
      VALUES (:uuid, nullif(:host, ''), :tool, :cuda, nullif(:driver, ''), nullif(:cublas, ''),
              :power_limit_w, :memory_mhz, nullif(:mig_slice, ''), :command, :seed,
              strftime('%Y-%m-%dT%H:%M:%SZ', 'now')))sql");
    const std::string uuid = run.uuid.empty() ? random_uuid() : run.uuid;
    insert.bind(":uuid", uuid);
    insert.bind(":host", run.host);
    insert.bind(":tool", run.tool_version);
    insert.bind(":cuda", run.cuda_version);
    insert.bind(":driver", run.driver_version);
    insert.bind(":cublas", run.cublas_version);
    if (run.gpu.power_limit_w) insert.bind(":power_limit_w", *run.gpu.power_limit_w);
    if (run.gpu.memory_mhz) insert.bind(":memory_mhz", *run.gpu.memory_mhz);
    insert.bind(":mig_slice", run.gpu.mig_slice);
    insert.bind(":command", valid_utf8(excerpt(run.command, kLongestReason)));
    insert.bind(":seed", std::to_string(run.seed));
    insert.exec();
    const std::int64_t id = impl_->db.getLastInsertRowid();
    impl_->run_kernels = {};
    impl_->run_kernels.built_in = built_in;
    for (const KernelText& kernel : kernels) {
      impl_->run_kernels.tokens[{kernel.family, kernel.hash}] = kernel.tokens;
    }
    if (built_in && !kernels.empty()) mark_current(impl_->db, impl_->run_kernels);
    transaction.commit();
    impl_->run_id = id;
    impl_->run_uuid = uuid;
    impl_->latest = 0;
    impl_->watch.emplace(impl_->path);
  });
}

void Database::store_baseline(const DeviceKey& device, const Problem& problem,
                              const Baseline& baseline) {
  const std::int64_t run = impl_->current_run();
  require_sound(impl_->path, device);
  require_sound(impl_->path, baseline);
  guarded(impl_->path, [&] {
    impl_->keep_in_place();
    SQLite::Database& db = impl_->db;
    Write transaction(db);
    const std::int64_t device_row = device_id(impl_->statements(), device),
                       problem_row = problem_id(impl_->statements(), problem);
    SQLite::Statement insert(db, R"sql(
      INSERT OR REPLACE INTO baselines (
        device_id, problem_id, run_id, name, median_us, samples, launches_per_sample, cold_us,
        sm_mhz, power_w, temperature_c, disturbance, error, recorded_at)
      VALUES (:device, :problem, :run, :name, :median_us, :samples, :launches_per_sample, :cold_us,
              :sm_mhz, :power_w, :temperature_c, :disturbance, :error,
              strftime('%Y-%m-%dT%H:%M:%fZ', 'now')))sql");
    insert.bind(":device", device_row);
    insert.bind(":problem", problem_row);
    insert.bind(":run", run);
    insert.bind(":name", baseline.name);
    bind_timing(insert, baseline.timing);
    if (baseline.error) insert.bind(":error", *baseline.error);
    insert.exec();
    SQLite::Statement version(
        db, "UPDATE runs SET cublas_version = nullif(:version, '') WHERE id = :run");
    version.bind(":version", library_version(baseline.name));
    version.bind(":run", run);
    version.exec();
    transaction.commit();
  });
}

void Database::store(const DeviceKey& device, const Problem& problem, const std::string& config,
                     const std::string& kernel_hash, const Outcome& stored, Source source) {
  const std::int64_t run = impl_->current_run();
  Outcome outcome = stored;
  outcome.detail = valid_utf8(excerpt(outcome.detail, kLongestReason));
  // The model gives infinity for a kernel that cannot run: no time is stored.
  if (outcome.predicted_us && !std::isfinite(*outcome.predicted_us)) outcome.predicted_us.reset();
  require_sound(impl_->path,
                Record{device, problem, config, kernel_hash, outcome, source, {}, {}, {}});
  guarded(impl_->path, [&] {
    impl_->keep_in_place();
    Statements& statements = impl_->statements();
    Write transaction(impl_->db);
    InUse row(statements.insert_measurement), recount(statements.recount);
    const auto bind = [&](const char* name, std::int64_t id) {
      row->bind(name, id);
      recount->bind(name, id);
    };
    bind(":device", device_id(statements, device));
    bind(":problem", problem_id(statements, problem));
    bind(":config", config_id(statements, config));
    bind(":kernel", kernel_id(statements, impl_->run_kernels, config, kernel_hash));
    row->bind(":run", run);
    row->bind(":disposition", std::string(to_string(outcome.disposition)));
    row->bind(":reason", outcome.detail);
    row->bind(":source", std::string(to_string(source)));
    recount->bind(":source", std::string(to_string(source)));
    bind_resources(*row, outcome.resources);
    if (outcome.timing) {
      bind_timing(*row, *outcome.timing);
      row->bind(":standing", std::string(to_string(outcome.standing)));
    }
    if (outcome.predicted_us) row->bind(":predicted_us", *outcome.predicted_us);
    if (outcome.compile_s) row->bind(":compile_s", *outcome.compile_s);
    if (outcome.gpu_s) row->bind(":gpu_s", *outcome.gpu_s);
    if (outcome.error) row->bind(":error", *outcome.error);
    if (outcome.twins_verified) row->bind(":twins_verified", *outcome.twins_verified ? 1 : 0);
    row->exec();
    const std::int64_t id = impl_->db.getLastInsertRowid();
    recount->exec();
    transaction.commit();
    impl_->latest = id;
  });
}

void Database::set_standing(const DeviceKey& device, const Problem& problem,
                            const std::string& config, const std::string& kernel_hash,
                            Standing standing) {
  guarded(impl_->path, [&] {
    impl_->keep_in_place();
    SQLite::Statement update(impl_->db, R"sql(
      UPDATE measurements SET standing = :standing
      WHERE counts = 1 AND source = 'measured' AND
            config_id = (SELECT id FROM configs WHERE text = :config) AND
            kernel_id IN (SELECT id FROM main.kernels WHERE hash = :hash) AND
            device_id = (SELECT id FROM devices
                         WHERE arch = :arch AND name = :name AND sm_count = :sms) AND
            problem_id = (SELECT id FROM problems WHERE text = :problem))sql");
    update.bind(":standing", std::string(to_string(standing)));
    update.bind(":config", config);
    update.bind(":hash", kernel_hash);
    bind_place(update, device, problem);
    update.exec();
  });
}

void Database::together(const std::function<void()>& writes) {
  guarded(impl_->path, [&] {
    impl_->keep_in_place();
    Write transaction(impl_->db);
    writes();
    transaction.commit();
  });
}

}  // namespace gemm_tune
