// SPDX-License-Identifier: Apache-2.0
// What happens if the file of an open Database is deleted, moved or replaced while rows are stored.
#include <sqlite3.h>

#include <system_error>

#include "db/database_impl.h"

namespace gemm_tune {

namespace fs = std::filesystem;

// Closes the old connection first: it removes its log by name, and would remove the new log.
void Database::Impl::open_again() {
  statements_.reset();
  db = SQLite::Database(":memory:", SQLite::OPEN_READWRITE);
  opened = open_database(path, Mode::create_or_open, lock, journaling);
  db.execAndGet("SELECT count(*) FROM runs");  // makes SQLite create the log
  watch.emplace(path);
}

// A deleted file keeps its rows until it is closed.
void Database::Impl::put_back() {
  const fs::path place = watch->real_path();
  create_database_folder(place);
  const fs::path copy = keep_copy(db, place, watch->permissions());
  statements_.reset();
  db = SQLite::Database(":memory:", SQLite::OPEN_READWRITE);
  for (const char* side : {"-wal", "-shm"}) fs::remove(place.string() + side);  // left over
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

// Writes the log into the file, unless other programs use the file.
bool Database::Impl::empties_log() {
  return db.execAndGet("PRAGMA wal_checkpoint(TRUNCATE)").getInt() == 0;
}

void Database::Impl::write_back_log() {
  if (!empties_log()) {
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
    return "all that it held, this run's rows included, is kept in '" +
           keep_copy(db, watch->real_path(), watch->permissions()).string() + "'";
  };
  const FileWatch::State state = watch->look();
  if (state == FileWatch::State::replaced || state == FileWatch::State::log_replaced ||
      state == FileWatch::State::moved) {
    // Closing would remove the log by name, and another database may have that name by now.
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
      throw database_error(path, "got another write-ahead log during the run: " + kept());
    case FileWatch::State::replaced: {
      const std::string where = kept();
      watch->remove_own_log();
      throw database_error(path, "was replaced by another file during the run: " + where);
    }
    case FileWatch::State::moved: {
      // The log did not move with the file.
      const bool is_whole = empties_log();
      const std::string where =
          is_whole ? "its rows are there: give that file to --db, or move it back" : kept();
      watch->remove_own_log();
      throw database_error(
          path, "was moved to '" + watch->now_at().string() + "' during the run: " + where);
    }
  }
}

// If the file was overwritten in place, this object's own connection may read the old or the new
// content. A new connection therefore looks for the run that this object remembers.
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

}  // namespace gemm_tune
