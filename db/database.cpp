#include "db/database.h"

#include <SQLiteCpp/SQLiteCpp.h>
#include <sqlite3.h>

#include <cmath>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <utility>

#include "core/error.h"
#include "core/printable.h"
#include "db/database_file.h"
#include "db/file_watch.h"
#include "db/rows.h"
#include "db/soundness.h"

namespace gemm_tune {
namespace {

namespace fs = std::filesystem;

constexpr const char* kInsertCandidate = R"sql(
  INSERT INTO candidates (
    device_id, problem_id, run_id, config, kernel_hash, disposition, reason, source, registers,
    spill_bytes, stack_bytes, smem_bytes, ctas_per_sm, median_us, samples, launches_per_sample,
    standing, cold_us, sm_mhz, power_w, temperature_c, disturbance, predicted_us,
    baseline_id, recorded_at)
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
    disturbance = excluded.disturbance, predicted_us = excluded.predicted_us,
    baseline_id = excluded.baseline_id, recorded_at = excluded.recorded_at)sql";

// Runs f and turns what it throws into DatabaseError.
template <class F>
auto guarded(const fs::path& path, const F& f) {
  try {
    return f();
  } catch (const SQLite::Exception& error) {
    throw translated(path, error);
  }
}

// The current row, by one of db/rows.h's functions.
template <class Read>
auto checked(const fs::path& path, SQLite::Statement& row, const Read& read) {
  try {
    return read(row);
  } catch (const Error& error) {
    throw damaged(path, std::string("a row cannot be read: ") + error.what());
  }
}

// What storing needs, compiled once: a run stores thousands of rows.
struct Statements {
  explicit Statements(SQLite::Database& db)
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
          VALUES (:text, :M, :N, :K, :type, :type, :type, :type, :layout, :alignment, :batch)
          RETURNING id)sql"),
        insert_candidate(db, kInsertCandidate) {}

  SQLite::Statement find_device, insert_device, find_problem, insert_problem, insert_candidate;
};

// A compiled statement while it is used: without values before, without locks after.
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

constexpr std::size_t kLongestStored = 100'000;  // bytes

// A command line or a compiler's words may be any bytes; what is stored has to be a text of bounded
// length for everyone who reads it.
std::string storable(const std::string& bytes) {
  using nlohmann::json;
  const std::string text = excerpt(bytes, kLongestStored);
  return json::parse(json(text).dump(-1, ' ', false, json::error_handler_t::replace));
}

// A transaction for writing, or a part of the one around it.
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

// Throws DatabaseError unless the value is one that can be read back.
template <class T>
void require_sound(const fs::path& path, const T& value) {
  if (const auto fault = why_unsound(value)) {
    throw database_error(path, "refuses a row: " + *fault);
  }
}

// The id that the statement gives, or nothing where it gives no row.
std::optional<std::int64_t> id_from(SQLite::Statement& statement) {
  if (!statement.executeStep()) return std::nullopt;
  return statement.getColumn(0).getInt64();
}

// Inside a transaction: no other process comes between the two statements.
std::int64_t device_id(Statements& statements, const DeviceKey& device) {
  const auto run = [&](SQLite::Statement& statement) {
    InUse use(statement);
    use->bind(":arch", device.arch);
    use->bind(":name", device.name);
    use->bind(":sms", device.sm_count);
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

}  // namespace

struct Database::Impl {
  Impl(const fs::path& file, Mode opened_for, LockWait lock_wait, Journaling how)
      : path(file),
        mode(opened_for),
        lock(std::move(lock_wait)),
        journaling(how),
        db(open_database(path, mode, lock, journaling)) {}

  // Before rows are written: that they come to lie where others look for them.
  void keep_in_place();

  std::int64_t current_run() const {
    if (!run_id) throw database_error(path, "has no run to store rows for: begin one first");
    return *run_id;
  }

  Statements& statements() {
    if (!statements_) statements_.emplace(db);
    return *statements_;
  }

  fs::path path;  // absolute, so that SQLite takes none for a URI or a special name
  Mode mode;
  LockWait lock;  // db refers to it
  Journaling journaling;
  SQLite::Database db;
  std::optional<std::int64_t> run_id;
  RunInfo run_info;
  Record latest;                   // stored in this run; its key alone
  std::optional<FileWatch> watch;  // since the run began
  std::string mended;

 private:
  void open_again();
  void put_back();
  void write_back_log();

  std::optional<Statements> statements_;  // after db, which they must not outlive
};

// The old connection goes first: it removes its log by name, and would remove the new one's.
void Database::Impl::open_again() {
  statements_.reset();
  db = SQLite::Database(":memory:", SQLite::OPEN_READWRITE);
  db = open_database(path, Mode::create_or_open, lock, journaling);
  db.execAndGet("SELECT count(*) FROM runs");  // its log exists from here on
  watch.emplace(path);
}

// The deleted file's rows are all there as long as it is open.
void Database::Impl::put_back() {
  const fs::path place = watch->real_path();
  create_database_folder(place);
  const fs::path copy = keep_copy(db, place, watch->permissions());
  statements_.reset();
  db = SQLite::Database(":memory:", SQLite::OPEN_READWRITE);
  for (const char* side : {"-wal", "-shm"}) fs::remove(place.string() + side);  // of no file now
  std::error_code error;
  fs::create_hard_link(copy, place, error);  // never over another file
  if (error) {
    throw database_error(path, "was deleted during the run and cannot be put back (" +
                                   error.message() + "): its rows are in '" + copy.string() + "'");
  }
  fs::remove(copy);
  open_again();
  mended =
      database_error(path, "was deleted during the run: it was put back with all its rows").what();
}

// What lies in the deleted log comes into the file.
void Database::Impl::write_back_log() {
  if (db.execAndGet("PRAGMA wal_checkpoint(TRUNCATE)").getInt() != 0) {
    throw database_error(path,
                         "has lost its write-ahead log while other programs use it: all that "
                         "this run stored is kept in '" +
                             keep_copy(db, watch->real_path(), watch->permissions()).string() +
                             "'");
  }
  open_again();
  mended = database_error(path, "lost its write-ahead log during the run: no row was lost").what();
}

void Database::Impl::keep_in_place() {
  if (!watch || sqlite3_get_autocommit(db.getHandle()) == 0) return;
  const auto kept = [this] {
    return "during the run: all that it held, this run's rows included, is kept in '" +
           keep_copy(db, watch->real_path(), watch->permissions()).string() + "'";
  };
  const FileWatch::State state = watch->look();
  if (state == FileWatch::State::replaced || state == FileWatch::State::log_replaced ||
      state == FileWatch::State::moved) {
    // Closing would remove the log by its name, which may be another database's by then.
    sqlite3_db_config(db.getHandle(), SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, nullptr);
  }
  switch (state) {
    case FileWatch::State::in_place:
      return;
    case FileWatch::State::deleted:
      return put_back();
    case FileWatch::State::log_deleted:
      return write_back_log();
    case FileWatch::State::log_replaced:
      throw database_error(path, "got another write-ahead log " + kept());
    case FileWatch::State::replaced:
      throw database_error(path, "was replaced by another file " + kept());
    case FileWatch::State::moved:
      db.exec("PRAGMA wal_checkpoint(TRUNCATE)");  // its log has stayed behind
      throw database_error(path, "was moved to '" + watch->now_at().string() +
                                     "' during the run, whose rows are there: give that file to "
                                     "--db, or move it back");
  }
}

Database::Database(const fs::path& path, Mode mode, LockWait lock, Journaling journaling) {
  if (path.empty()) throw DatabaseError("the database's path is empty: name a file");
  impl_ = std::make_unique<Impl>(absolute_path(path), mode, std::move(lock), journaling);
}

Database::~Database() = default;
Database::Database(Database&&) noexcept = default;
Database& Database::operator=(Database&&) noexcept = default;

const fs::path& Database::path() const { return impl_->path; }

std::int64_t Database::run_count() const {
  return guarded(impl_->path,
                 [&] { return impl_->db.execAndGet("SELECT count(*) FROM runs").getInt64(); });
}

int Database::schema_version() const {
  return guarded(impl_->path, [&] { return impl_->db.execAndGet("PRAGMA user_version").getInt(); });
}

Database::Journal Database::journal() const {
  return guarded(impl_->path, [&] {
    Journal journal;
    journal.mode = impl_->db.execAndGet("PRAGMA journal_mode").getString();
    // A file that is read without write access is read without its log, whatever its mode.
    if (has_wal_format(impl_->path)) journal.mode = "wal";
    if (journal.mode == "wal") return journal;
    const auto network = network_file_system(impl_->path.parent_path());
    if (network) {
      journal.why = "its folder is on a network file system (" + *network +
                    "), where a write-ahead log is not safe";
    } else if (impl_->mode == Mode::create_or_open) {
      journal.why = "another process is using it, so that the mode cannot change";
    } else {
      journal.why = "the next run that stores rows changes that, if no other process uses the file";
    }
    return journal;
  });
}

void Database::begin_run(const RunInfo& run) {
  guarded(impl_->path, [&] {
    SQLite::Statement insert(impl_->db, R"sql(
      INSERT INTO runs (tool_version, cuda_version, driver_version, command, seed, started_at)
      VALUES (:tool, :cuda, nullif(:driver, ''), :command, :seed,
              strftime('%Y-%m-%dT%H:%M:%SZ', 'now')))sql");
    insert.bind(":tool", run.tool_version);
    insert.bind(":cuda", run.cuda_version);
    insert.bind(":driver", run.driver_version);
    insert.bind(":command", storable(run.command));
    insert.bind(":seed", std::to_string(run.seed));
    insert.exec();
    impl_->run_id = impl_->db.getLastInsertRowid();
    impl_->run_info = run;
    impl_->latest = {};
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
                     const std::string& kernel_hash, const Outcome& stored, Source source) {
  const std::int64_t run = impl_->current_run();
  Outcome outcome = stored;
  outcome.detail = storable(outcome.detail);
  // The model's infinity says that the kernel cannot run: no time.
  if (outcome.predicted_us && !std::isfinite(*outcome.predicted_us)) outcome.predicted_us.reset();
  require_sound(impl_->path,
                Record{device, problem, config, kernel_hash, outcome, source, {}, {}, {}});
  guarded(impl_->path, [&] {
    impl_->keep_in_place();
    Statements& statements = impl_->statements();
    Write transaction(impl_->db);
    InUse row(statements.insert_candidate);
    row->bind(":device", device_id(statements, device));
    row->bind(":problem", problem_id(statements, problem));
    row->bind(":run", run);
    row->bind(":config", config);
    row->bind(":hash", kernel_hash);
    row->bind(":disposition", std::string(to_string(outcome.disposition)));
    row->bind(":reason", outcome.detail);
    row->bind(":source", std::string(to_string(source)));
    bind_resources(*row, outcome.resources);
    if (outcome.timing) {
      bind_timing(*row, *outcome.timing);
      row->bind(":standing", std::string(to_string(outcome.standing)));
    }
    if (outcome.predicted_us) row->bind(":predicted_us", *outcome.predicted_us);
    row->exec();
    transaction.commit();
    impl_->latest.device = device;
    impl_->latest.problem = problem;
    impl_->latest.config = config;
    impl_->latest.kernel_hash = kernel_hash;
  });
}

void Database::set_standing(const DeviceKey& device, const Problem& problem,
                            const std::string& config, const std::string& kernel_hash,
                            Standing standing) {
  guarded(impl_->path, [&] {
    impl_->keep_in_place();
    SQLite::Statement update(impl_->db, R"sql(
      UPDATE candidates SET standing = :standing
      WHERE source = 'measured' AND config = :config AND kernel_hash = :hash AND
            device_id = (SELECT id FROM devices
                         WHERE arch = :arch AND name = :name AND sm_count = :sms) AND
            problem_id = (SELECT id FROM problems WHERE text = :problem))sql");
    update.bind(":standing", std::string(to_string(standing)));
    update.bind(":config", config);
    update.bind(":hash", kernel_hash);
    update.bind(":arch", device.arch);
    update.bind(":name", device.name);
    update.bind(":sms", device.sm_count);
    update.bind(":problem", to_string(problem));
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

// In a file that was overwritten in place this object's own connection may read either content, so
// what is asked for is what it remembers.
void Database::confirm_stored() {
  const std::int64_t run = impl_->current_run();
  guarded(impl_->path, [&] {
    impl_->keep_in_place();
    SQLite::Database by_path =
        open_database(impl_->path, Mode::read_only, impl_->lock, impl_->journaling);
    SQLite::Statement find(by_path, R"sql(
      SELECT 1 FROM runs WHERE id = :run AND command = :command AND seed = :seed
        AND (:config = '' OR EXISTS (
          SELECT 1 FROM candidates c
          JOIN devices d ON d.id = c.device_id
          JOIN problems p ON p.id = c.problem_id
          WHERE d.arch = :arch AND d.name = :name AND d.sm_count = :sms AND p.text = :problem
            AND c.config = :config AND c.kernel_hash = :hash)))sql");
    find.bind(":run", run);
    find.bind(":command", storable(impl_->run_info.command));
    find.bind(":seed", std::to_string(impl_->run_info.seed));
    const Record& latest = impl_->latest;
    find.bind(":arch", latest.device.arch);
    find.bind(":name", latest.device.name);
    find.bind(":sms", latest.device.sm_count);
    find.bind(":problem", to_string(latest.problem));
    find.bind(":config", latest.config);
    find.bind(":hash", latest.kernel_hash);
    if (find.executeStep()) return;
    throw database_error(impl_->path,
                         "was overwritten during the run: the rows of this run are not in it");
  });
}

const std::string& Database::mended() const { return impl_->mended; }

std::vector<Record> Database::records(const DeviceKey& device, const Problem& problem) const {
  return guarded(impl_->path, [&] {
    SQLite::Statement query(impl_->db, std::string(kSelectRecord) + R"sql(
      WHERE d.arch = :arch AND d.name = :name AND d.sm_count = :sms AND p.text = :problem
      ORDER BY c.id)sql");
    query.bind(":arch", device.arch);
    query.bind(":name", device.name);
    query.bind(":sms", device.sm_count);
    query.bind(":problem", to_string(problem));
    std::vector<Record> found;
    while (query.executeStep()) found.push_back(checked(impl_->path, query, read_record));
    return found;
  });
}

std::vector<TimedConfig> Database::timed_elsewhere(const DeviceKey& device,
                                                   const Problem& problem) const {
  return guarded(impl_->path, [&] {
    SQLite::Statement query(impl_->db, std::string(kSelectTimedConfig) + R"sql(
      WHERE c.disposition = 'ok' AND c.source = 'measured' AND c.median_us IS NOT NULL
        AND (d.arch = :arch AND d.name = :name AND d.sm_count = :sms) <> (p.text = :problem)
        AND )sql" + kKnownProblem + R"sql(
      ORDER BY d.arch, d.name, d.sm_count, p.M, p.N, p.K, p.text, c.config, c.id)sql");
    query.bind(":arch", device.arch);
    query.bind(":name", device.name);
    query.bind(":sms", device.sm_count);
    query.bind(":problem", to_string(problem));
    std::vector<TimedConfig> found;
    while (query.executeStep()) {
      try {
        found.push_back(read_timed_config(query));
      } catch (const Error&) {
        continue;  // it would have been a hint only; check() names such a row
      }
    }
    return found;
  });
}

std::vector<Baseline> Database::baselines(const Record& record) const {
  return guarded(impl_->path, [&] {
    SQLite::Statement select(impl_->db, std::string(kSelectBaseline) + R"sql(
      JOIN candidates c ON c.device_id = b.device_id AND c.problem_id = b.problem_id
                       AND c.run_id = b.run_id
      JOIN devices d ON d.id = c.device_id
      JOIN problems p ON p.id = c.problem_id
      WHERE d.arch = :arch AND d.name = :name AND d.sm_count = :sms AND p.text = :problem
        AND c.config = :config AND c.kernel_hash = :hash AND c.source = :source
        AND b.median_us IS NOT NULL
      ORDER BY b.id)sql");
    select.bind(":arch", record.device.arch);
    select.bind(":name", record.device.name);
    select.bind(":sms", record.device.sm_count);
    select.bind(":problem", to_string(record.problem));
    select.bind(":config", record.config);
    select.bind(":hash", record.kernel_hash);
    select.bind(":source", std::string(to_string(record.source)));
    std::vector<Baseline> found;
    while (select.executeStep()) {
      try {
        found.push_back(read_baseline(select));
      } catch (const Error& error) {
        throw damaged(impl_->path, std::string("a row cannot be read: ") + error.what());
      }
    }
    return found;
  });
}

void Database::for_each_record(const std::function<void(const Record&)>& visit) const {
  guarded(impl_->path, [&] {
    SQLite::Statement query(impl_->db, std::string(kSelectRecord) + " WHERE " + kKnownProblem +
                                           " ORDER BY d.arch, d.name, d.sm_count, p.M, p.N, p.K, "
                                           "p.text, c.config, c.source, c.id");
    while (query.executeStep()) visit(checked(impl_->path, query, read_record));
  });
}

void Database::for_each_summary(const std::function<void(const Record&)>& visit) const {
  guarded(impl_->path, [&] {
    SQLite::Statement query(impl_->db, std::string(kSelectSummary) + " WHERE " + kKnownProblem);
    while (query.executeStep()) visit(checked(impl_->path, query, read_summary));
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
      const std::string config = keys.getColumn(3).getString();
      if (usable && !usable(config, keys.getColumn(4).getString())) continue;
      ++taken;
      whole.bind(":id", keys.getColumn(0).getInt64());
      if (whole.executeStep()) found.push_back(checked(impl_->path, whole, read_record));
      whole.reset();
      // In a damaged file a row can be another one by its number than in passing.
      if (found.empty() || found.back().config != config) {
        throw damaged(impl_->path, "a row is not where its number says");
      }
    }
    return found;
  });
}

std::vector<DeviceKey> Database::devices() const {
  return guarded(impl_->path, [&] {
    SQLite::Statement query(impl_->db,
                            std::string(kSelectDevice) + " ORDER BY d.arch, d.name, d.sm_count");
    std::vector<DeviceKey> found;
    while (query.executeStep()) {
      found.push_back(checked(impl_->path, query, read_device_key));
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
      "there is no place for the database: name one (--db), or set GEMM_TUNE_DB, XDG_DATA_HOME or "
      "HOME");
}

fs::path default_database_path() {
  return default_database_path(std::getenv("GEMM_TUNE_DB"), std::getenv("XDG_DATA_HOME"),
                               std::getenv("HOME"));
}

void create_database_folder(const fs::path& database_path) {
  std::error_code error;
  fs::create_directories(absolute_path(database_path).parent_path(), error);
  if (error) {
    throw database_error(database_path,
                         "cannot be created: its folder cannot (" + error.message() + ")");
  }
}

}  // namespace gemm_tune
