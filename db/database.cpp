// SPDX-License-Identifier: Apache-2.0
#include "db/database.h"

#include <SQLiteCpp/SQLiteCpp.h>
#include <sqlite3.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>
#include <nlohmann/json.hpp>
#include <random>
#include <sstream>
#include <utility>

#include "core/error.h"
#include "core/printable.h"
#include "db/counting.h"
#include "db/database_file.h"
#include "db/file_watch.h"
#include "db/rows.h"
#include "db/soundness.h"
#include "db/winners_view.h"

namespace gemm_tune {
namespace {

namespace fs = std::filesystem;

constexpr const char* kInsertMeasurement = R"sql(
  INSERT INTO measurements (
    device_id, problem_id, config_id, kernel_id, run_id, counts, disposition, reason, source,
    registers, spill_bytes, stack_bytes, smem_bytes, ctas_per_sm, median_us, samples,
    launches_per_sample, standing, cold_us, sm_mhz, power_w, temperature_c, disturbance,
    predicted_us, compile_s, gpu_s, recorded_at)
  VALUES (
    :device, :problem, :config, :kernel, :run, 0, :disposition, nullif(:reason, ''), :source,
    :registers, :spill_bytes, :stack_bytes, :smem_bytes, :ctas_per_sm, :median_us, :samples,
    :launches_per_sample, :standing, :cold_us, :sm_mhz, :power_w, :temperature_c, :disturbance,
    :predicted_us, :compile_s, :gpu_s, strftime('%Y-%m-%dT%H:%M:%fZ', 'now')))sql";

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
        find_config(db, "SELECT id FROM configs WHERE text = :text"),
        insert_config(db, "INSERT INTO configs (text) VALUES (:text) RETURNING id"),
        find_kernel(db, "SELECT id FROM main.kernels WHERE family = :family AND hash = :hash"),
        insert_kernel(db,
                      "INSERT INTO main.kernels (family, hash, tokens, is_current) "
                      "VALUES (:family, :hash, :tokens, :is_current) RETURNING id"),
        insert_measurement(db, kInsertMeasurement),
        recount(db, std::string(kRecount) + kOfCandidate) {}

  SQLite::Statement find_device, insert_device, find_problem, insert_problem, find_config,
      insert_config, find_kernel, insert_kernel, insert_measurement, recount;
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

// A compiler may say much.
constexpr std::size_t kLongestReason = 100'000;

// A command line may be any bytes; what is stored has to be text for everyone who reads it.
std::string valid_utf8(const std::string& bytes) {
  using nlohmann::json;
  return json::parse(json(bytes).dump(-1, ' ', false, json::error_handler_t::replace));
}

// RFC 9562, section 5.4.
std::string random_uuid() {
  std::random_device entropy;
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string uuid = "xxxxxxxx-xxxx-4xxx-8xxx-xxxxxxxxxxxx";
  for (char& digit : uuid) {
    if (digit == 'x') digit = kDigits[entropy() % 16];
  }
  return uuid;
}

// "13.1.0" of "cublasSgemm 13.1.0"; empty where the name has no second word.
std::string library_version(const std::string& baseline) {
  std::istringstream words(baseline);
  std::string function, version;
  words >> function >> version;
  return version;
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

std::int64_t config_id(Statements& statements, const std::string& config) {
  const auto run = [&](SQLite::Statement& statement) {
    InUse use(statement);
    use->bind(":text", config);
    return id_from(*use);
  };
  const auto id = run(statements.find_config);
  return id ? *id : run(statements.insert_config).value();
}

// The kernels of the current run, by family and hash.
struct RunKernels {
  std::map<std::pair<std::string, std::string>, std::string> tokens;
  bool built_in = false;
};

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

// The view `winners` of the file takes these for the kernels of the program that wrote last.
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

// By temp.winners, as it judges now.
std::vector<Record> winners_of(const fs::path& path, SQLite::Database& db,
                               const std::string& arch) {
  SQLite::Statement ids(db,
                        "SELECT w.measurement_id FROM temp.winners w "
                        "JOIN problems p ON p.text = w.problem "
                        "WHERE w.arch = :arch AND w.holds = 1 AND " +
                            std::string(kKnownProblem) +
                            " ORDER BY w.device, w.sm_count, w.M, w.N, w.K, w.problem");
  ids.bind(":arch", arch);
  SQLite::Statement whole(db, std::string(kSelectRecord) + " WHERE m.id = :id");
  std::vector<Record> found;
  while (ids.executeStep()) {
    whole.bind(":id", ids.getColumn(0).getInt64());
    // In a damaged file a row can be another one by its number than in passing.
    if (!whole.executeStep()) throw damaged(path, "a row is not where its number says");
    found.push_back(checked(path, whole, read_record));
    whole.reset();
  }
  return found;
}

}  // namespace

struct Database::Impl {
  Impl(const fs::path& file, Mode opened_for, LockWait lock_wait, Journaling how)
      : path(file),
        mode(opened_for),
        lock(std::move(lock_wait)),
        journaling(how),
        opened(open_database(path, mode, lock, journaling)) {}

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
  OpenDatabase opened;
  SQLite::Database& db = opened.connection;
  std::optional<std::int64_t> run_id;
  RunKernels run_kernels;
  std::string run_uuid;
  std::int64_t latest = 0;         // measurement of this run; 0: none
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
  opened = open_database(path, Mode::create_or_open, lock, journaling);
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

std::int64_t Database::superseded_count() const {
  return guarded(impl_->path, [&] {
    return impl_->db.execAndGet("SELECT count(*) FROM measurements WHERE counts = 0").getInt64();
  });
}

int Database::schema_version() const { return impl_->opened.file_version; }

Database::Journal Database::journal() const {
  return guarded(impl_->path, [&] {
    Journal journal;
    journal.mode = impl_->db.execAndGet("PRAGMA journal_mode").getString();
    // A file that is read without write access is read without its log, whatever its mode.
    if (has_wal_format(impl_->path)) journal.mode = "wal";
    if (journal.mode == "memory") journal.mode = "delete";  // of a copy in memory, db/upgrade.h
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
        sm_mhz, power_w, temperature_c, disturbance, recorded_at)
      VALUES (:device, :problem, :run, :name, :median_us, :samples, :launches_per_sample, :cold_us,
              :sm_mhz, :power_w, :temperature_c, :disturbance,
              strftime('%Y-%m-%dT%H:%M:%fZ', 'now')))sql");
    insert.bind(":device", device_row);
    insert.bind(":problem", problem_row);
    insert.bind(":run", run);
    insert.bind(":name", baseline.name);
    bind_timing(insert, baseline.timing);
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
  // The model's infinity says that the kernel cannot run: no time.
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
    OpenDatabase by_path =
        open_database(impl_->path, Mode::read_only, impl_->lock, impl_->journaling);
    SQLite::Statement find(by_path.connection, R"sql(
      SELECT 1 FROM runs WHERE id = :run AND uuid = :uuid
        AND (:latest = 0 OR EXISTS (
          SELECT 1 FROM measurements WHERE id = :latest AND run_id = runs.id)))sql");
    find.bind(":run", run);
    find.bind(":uuid", impl_->run_uuid);
    find.bind(":latest", impl_->latest);
    if (find.executeStep()) return;
    throw database_error(impl_->path,
                         "was overwritten during the run: the rows of this run are not in it");
  });
}

const std::string& Database::mended() const { return impl_->mended; }

std::vector<Record> Database::records(const DeviceKey& device, const Problem& problem) const {
  return guarded(impl_->path, [&] {
    SQLite::Statement query(impl_->db, std::string(kSelectRecord) + R"sql(
      WHERE m.counts = 1 AND d.arch = :arch AND d.name = :name AND d.sm_count = :sms
        AND p.text = :problem
      ORDER BY (
        SELECT min(f.id)
        FROM measurements f
        WHERE f.device_id = m.device_id AND f.problem_id = m.problem_id
          AND f.config_id = m.config_id AND f.kernel_id = m.kernel_id AND f.source = m.source
      ))sql");
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
      WHERE m.counts = 1 AND m.disposition = 'ok' AND m.source = 'measured'
        AND m.median_us IS NOT NULL AND (d.arch = :arch AND d.name = :name AND d.sm_count = :sms) <> (p.text = :problem)
        AND )sql" + kKnownProblem + R"sql(
      ORDER BY d.arch, d.name, d.sm_count, p.M, p.N, p.K, p.text, c.text, m.id)sql");
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
      JOIN measurements m ON m.device_id = b.device_id AND m.problem_id = b.problem_id
                         AND m.run_id = b.run_id
      JOIN devices d ON d.id = m.device_id
      JOIN problems p ON p.id = m.problem_id
      JOIN configs c ON c.id = m.config_id
      JOIN main.kernels k ON k.id = m.kernel_id
      WHERE m.counts = 1 AND d.arch = :arch AND d.name = :name AND d.sm_count = :sms AND p.text = :problem
        AND c.text = :config AND k.hash = :hash AND m.source = :source
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
    SQLite::Statement query(impl_->db, std::string(kSelectRecord) + " WHERE m.counts = 1 AND " +
                                           kKnownProblem +
                                           " ORDER BY d.arch, d.name, d.sm_count, p.M, p.N, p.K, "
                                           "p.text, c.text, m.source, m.id");
    while (query.executeStep()) visit(checked(impl_->path, query, read_record));
  });
}

void Database::for_each_summary(const std::function<void(const Record&)>& visit) const {
  guarded(impl_->path, [&] {
    SQLite::Statement query(
        impl_->db, std::string(kSelectSummary) + " WHERE m.counts = 1 AND " + kKnownProblem);
    while (query.executeStep()) visit(checked(impl_->path, query, read_summary));
  });
}

std::vector<Record> Database::winners(const std::string& arch, const KernelHashes& hashes,
                                      const ConfigFilter& usable) const {
  return guarded(impl_->path, [&] {
    const JudgedWinners judged(impl_->db, hashes);
    std::vector<Record> found = winners_of(impl_->path, impl_->db, arch);
    const auto is_refused = [&](const Record& record) { return usable && !usable(record.config); };
    if (std::none_of(found.begin(), found.end(), is_refused)) return found;
    judged.leave_out(usable);
    return winners_of(impl_->path, impl_->db, arch);
  });
}

std::int64_t Database::rows_of_other_kernels(const std::string& arch,
                                             const KernelHashes& hashes) const {
  return guarded(impl_->path, [&] {
    SQLite::Statement kernels(impl_->db, R"sql(
      SELECT k.family, k.hash, count(*)
      FROM measurements m
      JOIN devices d ON d.id = m.device_id
      JOIN main.kernels k ON k.id = m.kernel_id
      WHERE d.arch = :arch AND m.counts = 1 AND m.disposition = 'ok'
      GROUP BY k.id)sql");
    kernels.bind(":arch", arch);
    std::int64_t rows = 0;
    while (kernels.executeStep()) {
      const auto ours = hashes.find(kernels.getColumn(0).getString());
      const bool is_ours = ours != hashes.end() && ours->second == kernels.getColumn(1).getString();
      if (!is_ours) rows += kernels.getColumn(2).getInt64();
    }
    return rows;
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
