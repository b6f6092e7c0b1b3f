// SPDX-License-Identifier: Apache-2.0
#include "db/database.h"

#include <cstdlib>

#include "db/database_impl.h"
#include "db/schema/schema.h"

namespace gemm_tune {

namespace fs = std::filesystem;

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

int Database::schema_version() { return static_cast<int>(kSchemaVersion); }

Database::Journal Database::journal() const {
  return guarded(impl_->path, [&] {
    Journal journal;
    journal.mode = impl_->db.execAndGet("PRAGMA journal_mode").getString();
    if (impl_->opened.reads_wal_format) journal.mode = "wal";
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

DeviceKey device_key(const DeviceSpec& spec) { return {spec.arch, spec.name, spec.sm_count}; }

std::string to_string(const Baseline& baseline) {
  if (!baseline.algorithms) return baseline.title();
  return baseline.title() + " (best of " + std::to_string(*baseline.algorithms) + " heuristics)";
}

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

fs::path default_database_path_or_none() {
  try {
    return default_database_path();
  } catch (const DatabaseError&) {
    return {};
  }
}

void create_database_folder(const fs::path& database_path) {
  std::error_code error;
  fs::create_directories(absolute_path(database_path).parent_path(), error);
  if (error) {
    throw database_error(database_path, "cannot be created: its folder cannot (" + error.message() +
                                            "): name another by --db or GEMM_TUNE_DB");
  }
}

}  // namespace gemm_tune
