#include "db/database.h"

#include <SQLiteCpp/SQLiteCpp.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

#include "core/error.h"
#include "db/database_file.h"

namespace gemm_tune {
namespace {

namespace fs = std::filesystem;

const char* word(DataType type) {
  switch (type) {
    case DataType::f32:
      return "f32";
  }
  throw Error("a data type outside the closed list");
}

const char* word(Layout layout) {
  switch (layout) {
    case Layout::nn:
      return "nn";
  }
  throw Error("a layout outside the closed list");
}

std::string samples_json(const Timing& timing) { return nlohmann::json(timing.samples_us).dump(); }

// Runs f and turns what it throws into DatabaseError.
template <class F>
auto guarded(const fs::path& path, const F& f) {
  try {
    return f();
  } catch (const SQLite::Exception& error) {
    throw translated(path, error);
  } catch (const nlohmann::json::exception& error) {
    throw database_error(path, "is damaged: samples are not a JSON array of numbers (" +
                                   std::string(error.what()) + ")");
  }
}

std::int64_t device_id(SQLite::Database& db, const DeviceKey& device) {
  SQLite::Statement insert(db,
                           "INSERT INTO devices (arch, name, sm_count) VALUES (:arch, :name, :sms) "
                           "ON CONFLICT DO UPDATE SET arch = arch RETURNING id");
  insert.bind(":arch", device.arch);
  insert.bind(":name", device.name);
  insert.bind(":sms", device.sm_count);
  insert.executeStep();
  return insert.getColumn(0).getInt64();
}

std::int64_t problem_id(SQLite::Database& db, const Problem& problem) {
  SQLite::Statement insert(db, R"sql(
    INSERT INTO problems (text, M, N, K, type_a, type_b, type_c, type_compute, layout, alignment,
                          batch)
    VALUES (:text, :M, :N, :K, :type, :type, :type, :type, :layout, :alignment, :batch)
    ON CONFLICT DO UPDATE SET text = text RETURNING id)sql");
  insert.bind(":text", to_string(problem));
  insert.bind(":M", problem.M);
  insert.bind(":N", problem.N);
  insert.bind(":K", problem.K);
  insert.bind(":type", word(problem.type));
  insert.bind(":layout", word(problem.layout));
  insert.bind(":alignment", problem.alignment);
  insert.bind(":batch", problem.batch);
  insert.executeStep();
  return insert.getColumn(0).getInt64();
}

void bind_resources(SQLite::Statement& row, const std::optional<Resources>& resources) {
  if (!resources) return;  // unbound parameters are NULL
  row.bind(":registers", resources->registers);
  row.bind(":spill_bytes", resources->spill_bytes);
  row.bind(":stack_bytes", resources->stack_bytes);
  row.bind(":smem_bytes", resources->smem_bytes);
  row.bind(":ctas_per_sm", resources->ctas_per_sm);
}

void bind_timing(SQLite::Statement& row, const Timing& timing) {
  row.bind(":median_us", timing.median_us);
  row.bind(":samples", samples_json(timing));
  row.bind(":launches_per_sample", timing.launches_per_sample);
  if (timing.cold_us) row.bind(":cold_us", *timing.cold_us);
  if (timing.conditions) {
    row.bind(":sm_mhz", timing.conditions->sm_mhz);
    row.bind(":power_w", timing.conditions->power_w);
    row.bind(":temperature_c", timing.conditions->temperature_c);
  }
  if (!timing.disturbance.empty()) row.bind(":disturbance", timing.disturbance);
}

// The columns that read_record() reads, in its order. Rows of types and layouts that this program
// does not know yet are not its business.
constexpr const char* kSelectRecord = R"sql(
  SELECT d.arch, d.name, d.sm_count, p.text, c.config, c.kernel_hash, c.disposition,
         coalesce(c.reason, ''), c.source, c.registers, c.spill_bytes, c.stack_bytes, c.smem_bytes,
         c.ctas_per_sm, c.median_us, c.samples, c.launches_per_sample, c.cold_us, c.sm_mhz,
         c.power_w, c.temperature_c, coalesce(c.disturbance, ''), c.standing, c.predicted_us, b.name,
         b.median_us, b.samples, b.launches_per_sample, b.cold_us, b.sm_mhz, b.power_w,
         b.temperature_c, coalesce(b.disturbance, ''), c.recorded_at, r.tool_version,
         r.cuda_version, coalesce(r.driver_version, ''), r.command, r.seed
  FROM candidates c
  JOIN devices d ON d.id = c.device_id
  JOIN problems p ON p.id = c.problem_id
  JOIN runs r ON r.id = c.run_id
  LEFT JOIN baselines b ON b.id = c.baseline_id
)sql";
constexpr const char* kKnownProblem =
    "p.type_a = 'f32' AND p.type_b = 'f32' AND p.type_c = 'f32' AND p.type_compute = 'f32' AND "
    "p.layout = 'nn'";

// Eight columns from `first` on; nothing where the first is NULL.
std::optional<Timing> read_timing(SQLite::Statement& row, int first) {
  if (row.isColumnNull(first)) return std::nullopt;
  Timing timing;
  timing.median_us = row.getColumn(first).getDouble();
  timing.samples_us =
      nlohmann::json::parse(row.getColumn(first + 1).getString()).get<std::vector<double>>();
  timing.launches_per_sample = row.getColumn(first + 2).getInt();
  if (!row.isColumnNull(first + 3)) timing.cold_us = row.getColumn(first + 3).getDouble();
  if (!row.isColumnNull(first + 4)) {
    timing.conditions = {row.getColumn(first + 4).getInt(), row.getColumn(first + 5).getDouble(),
                         row.getColumn(first + 6).getInt()};
  }
  timing.disturbance = row.getColumn(first + 7).getString();
  return timing;
}

std::optional<Resources> read_resources(SQLite::Statement& row, int first) {
  if (row.isColumnNull(first)) return std::nullopt;
  return Resources{row.getColumn(first).getInt(), row.getColumn(first + 1).getInt(),
                   row.getColumn(first + 2).getInt(), row.getColumn(first + 3).getInt(),
                   row.getColumn(first + 4).getInt()};
}

Record read_record(SQLite::Statement& row) {
  const auto text = [&](int column) { return row.getColumn(column).getString(); };
  Record record;
  record.device = {text(0), text(1), row.getColumn(2).getInt()};
  record.problem = parse_problem(text(3));
  record.config = text(4);
  record.kernel_hash = text(5);
  record.outcome.disposition = parse_disposition(text(6));
  record.outcome.detail = text(7);
  record.source = parse_source(text(8));
  record.outcome.resources = read_resources(row, 9);
  record.outcome.timing = read_timing(row, 14);
  if (!row.isColumnNull(22)) record.outcome.standing = parse_standing(text(22));
  if (!row.isColumnNull(23)) record.outcome.predicted_us = row.getColumn(23).getDouble();
  if (!row.isColumnNull(24)) record.baseline = Baseline{text(24), *read_timing(row, 25)};
  record.recorded_at = text(33);
  record.run = {text(34), text(35), text(36), text(37), std::stoull(text(38))};
  return record;
}

}  // namespace

struct Database::Impl {
  Impl(const fs::path& file, Mode mode, std::chrono::milliseconds lock_timeout)
      : path(file), db(open_database(path, mode, lock_timeout)) {}

  std::int64_t current_run() const {
    if (!run_id) throw database_error(path, "has no run to store rows for: begin one first");
    return *run_id;
  }

  fs::path path;  // absolute, so that SQLite takes none for a URI or a special name
  SQLite::Database db;
  std::optional<std::int64_t> run_id;
};

Database::Database(const fs::path& path, Mode mode, std::chrono::milliseconds lock_timeout) {
  if (path.empty()) throw DatabaseError("the database's path is empty: name a file");
  impl_ = std::make_unique<Impl>(fs::absolute(path), mode, lock_timeout);
}

Database::~Database() = default;
Database::Database(Database&&) noexcept = default;
Database& Database::operator=(Database&&) noexcept = default;

const fs::path& Database::path() const { return impl_->path; }

void Database::begin_run(const RunInfo& run) {
  guarded(impl_->path, [&] {
    SQLite::Statement insert(impl_->db, R"sql(
      INSERT INTO runs (tool_version, cuda_version, driver_version, command, seed, started_at)
      VALUES (:tool, :cuda, nullif(:driver, ''), :command, :seed,
              strftime('%Y-%m-%dT%H:%M:%SZ', 'now')))sql");
    insert.bind(":tool", run.tool_version);
    insert.bind(":cuda", run.cuda_version);
    insert.bind(":driver", run.driver_version);
    insert.bind(":command", run.command);
    insert.bind(":seed", std::to_string(run.seed));
    insert.exec();
    impl_->run_id = impl_->db.getLastInsertRowid();
  });
}

void Database::store_baseline(const DeviceKey& device, const Problem& problem,
                              const Baseline& baseline) {
  const std::int64_t run = impl_->current_run();
  guarded(impl_->path, [&] {
    SQLite::Database& db = impl_->db;
    SQLite::Transaction transaction(db, SQLite::TransactionBehavior::IMMEDIATE);
    const std::int64_t device_row = device_id(db, device), problem_row = problem_id(db, problem);
    SQLite::Statement insert(db, R"sql(
      INSERT INTO baselines (device_id, problem_id, run_id, name, median_us, samples,
                             launches_per_sample, cold_us, sm_mhz, power_w, temperature_c,
                             disturbance)
      VALUES (:device, :problem, :run, :name, :median_us, :samples, :launches_per_sample, :cold_us,
              :sm_mhz, :power_w, :temperature_c, :disturbance)
      ON CONFLICT DO UPDATE SET median_us = excluded.median_us, samples = excluded.samples,
                                launches_per_sample = excluded.launches_per_sample,
                                cold_us = excluded.cold_us, sm_mhz = excluded.sm_mhz,
                                power_w = excluded.power_w, temperature_c = excluded.temperature_c,
                                disturbance = excluded.disturbance)sql");
    insert.bind(":device", device_row);
    insert.bind(":problem", problem_row);
    insert.bind(":run", run);
    insert.bind(":name", baseline.name);
    bind_timing(insert, baseline.timing);
    insert.exec();
    SQLite::Statement update(db, R"sql(
      UPDATE candidates
      SET baseline_id = (SELECT id FROM baselines
                         WHERE device_id = :device AND problem_id = :problem AND run_id = :run
                         ORDER BY median_us, name LIMIT 1)
      WHERE device_id = :device AND problem_id = :problem AND run_id = :run)sql");
    update.bind(":device", device_row);
    update.bind(":problem", problem_row);
    update.bind(":run", run);
    update.exec();
    transaction.commit();
  });
}

void Database::store(const DeviceKey& device, const Problem& problem, const std::string& config,
                     const std::string& kernel_hash, const Outcome& outcome, Source source) {
  const std::int64_t run = impl_->current_run();
  guarded(impl_->path, [&] {
    SQLite::Database& db = impl_->db;
    SQLite::Transaction transaction(db, SQLite::TransactionBehavior::IMMEDIATE);
    SQLite::Statement row(db, R"sql(
      INSERT INTO candidates (
        device_id, problem_id, run_id, config, kernel_hash, disposition, reason, source, registers,
        spill_bytes, stack_bytes, smem_bytes, ctas_per_sm, median_us, samples, launches_per_sample,
        standing, cold_us, sm_mhz, power_w, temperature_c, disturbance, predicted_us, baseline_id, recorded_at)
      VALUES (
        :device, :problem, :run, :config, :hash, :disposition, nullif(:reason, ''), :source,
        :registers, :spill_bytes, :stack_bytes, :smem_bytes, :ctas_per_sm, :median_us, :samples,
        :launches_per_sample, :standing, :cold_us, :sm_mhz, :power_w, :temperature_c, :disturbance,
        :predicted_us,
        (SELECT id FROM baselines
         WHERE device_id = :device AND problem_id = :problem AND run_id = :run
         ORDER BY median_us, name LIMIT 1),
        strftime('%Y-%m-%dT%H:%M:%SZ', 'now'))
      ON CONFLICT (device_id, problem_id, config, kernel_hash, source) DO UPDATE SET
        run_id = excluded.run_id, disposition = excluded.disposition, reason = excluded.reason,
        registers = excluded.registers, spill_bytes = excluded.spill_bytes,
        stack_bytes = excluded.stack_bytes, smem_bytes = excluded.smem_bytes,
        ctas_per_sm = excluded.ctas_per_sm, median_us = excluded.median_us,
        samples = excluded.samples, launches_per_sample = excluded.launches_per_sample,
        standing = excluded.standing, cold_us = excluded.cold_us, sm_mhz = excluded.sm_mhz,
        power_w = excluded.power_w, temperature_c = excluded.temperature_c,
        disturbance = excluded.disturbance, predicted_us = excluded.predicted_us, baseline_id = excluded.baseline_id,
        recorded_at = excluded.recorded_at)sql");
    row.bind(":device", device_id(db, device));
    row.bind(":problem", problem_id(db, problem));
    row.bind(":run", run);
    row.bind(":config", config);
    row.bind(":hash", kernel_hash);
    row.bind(":disposition", std::string(to_string(outcome.disposition)));
    row.bind(":reason", outcome.detail);
    row.bind(":source", std::string(to_string(source)));
    bind_resources(row, outcome.resources);
    if (outcome.timing) {
      bind_timing(row, *outcome.timing);
      row.bind(":standing", std::string(to_string(outcome.standing)));
    }
    // The model's infinity says that the kernel cannot run: no time.
    if (outcome.predicted_us && std::isfinite(*outcome.predicted_us)) {
      row.bind(":predicted_us", *outcome.predicted_us);
    }
    row.exec();
    transaction.commit();
  });
}

std::vector<Record> Database::records(const DeviceKey& device, const Problem& problem) const {
  return guarded(impl_->path, [&] {
    SQLite::Statement query(impl_->db, std::string(kSelectRecord) + R"sql(
      WHERE d.arch = :arch AND d.name = :name AND d.sm_count = :sms AND p.text = :problem
      ORDER BY c.config, c.source, c.id)sql");
    query.bind(":arch", device.arch);
    query.bind(":name", device.name);
    query.bind(":sms", device.sm_count);
    query.bind(":problem", to_string(problem));
    std::vector<Record> found;
    while (query.executeStep()) found.push_back(read_record(query));
    return found;
  });
}

std::vector<Record> Database::best_records(const std::string& arch, int per_problem,
                                           const RowFilter& usable) const {
  return guarded(impl_->path, [&] {
    // Only what orders and filters first: most rows are passed over, and samples are long.
    SQLite::Statement keys(impl_->db, R"sql(
      SELECT c.id, c.device_id, c.problem_id, c.config, c.kernel_hash
      FROM candidates c
      JOIN devices d ON d.id = c.device_id
      JOIN problems p ON p.id = c.problem_id
      WHERE d.arch = :arch AND c.disposition = 'ok' AND )sql" +
                                          std::string(kKnownProblem) + R"sql(
      ORDER BY d.name, d.sm_count, p.M, p.N, p.K, p.text, c.source = 'predicted',
               coalesce(c.median_us, c.predicted_us), c.config, c.id)sql");
    keys.bind(":arch", arch);
    SQLite::Statement whole(impl_->db, std::string(kSelectRecord) + " WHERE c.id = :id");
    std::vector<Record> found;
    std::pair<std::int64_t, std::int64_t> group{0, 0};
    int taken = 0;
    while (keys.executeStep()) {
      const std::pair<std::int64_t, std::int64_t> key{keys.getColumn(1).getInt64(),
                                                      keys.getColumn(2).getInt64()};
      if (key != group) taken = 0;
      group = key;
      if (taken == per_problem) continue;
      if (usable && !usable(keys.getColumn(3).getString(), keys.getColumn(4).getString())) continue;
      ++taken;
      whole.bind(":id", keys.getColumn(0).getInt64());
      whole.executeStep();
      found.push_back(read_record(whole));
      whole.reset();
    }
    return found;
  });
}

std::vector<DeviceKey> Database::devices() const {
  return guarded(impl_->path, [&] {
    SQLite::Statement query(impl_->db,
                            "SELECT arch, name, sm_count FROM devices ORDER BY arch, name, "
                            "sm_count");
    std::vector<DeviceKey> found;
    while (query.executeStep()) {
      found.push_back({query.getColumn(0).getString(), query.getColumn(1).getString(),
                       query.getColumn(2).getInt()});
    }
    return found;
  });
}

DeviceKey device_key(const DeviceSpec& spec) { return {spec.arch, spec.name, spec.sm_count}; }

fs::path default_database_path(const char* gemm_tune_db, const char* xdg_data_home,
                               const char* home) {
  const auto given = [](const char* value) { return value != nullptr && *value != '\0'; };
  if (given(gemm_tune_db)) return gemm_tune_db;
  // The XDG specification: a relative path is invalid and ignored.
  if (given(xdg_data_home) && fs::path(xdg_data_home).is_absolute()) {
    return fs::path(xdg_data_home) / "gemm-tune" / "gemm-tune.db";
  }
  if (given(home)) return fs::path(home) / ".local" / "share" / "gemm-tune" / "gemm-tune.db";
  throw DatabaseError(
      "there is no place for the database: give --db, or set GEMM_TUNE_DB, XDG_DATA_HOME or HOME");
}

void create_database_folder(const fs::path& database_path) {
  std::error_code error;
  fs::create_directories(fs::absolute(database_path).parent_path(), error);
  if (error) {
    throw database_error(database_path,
                         "cannot be created: its folder cannot (" + error.message() + ")");
  }
}

}  // namespace gemm_tune
