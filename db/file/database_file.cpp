// SPDX-License-Identifier: Apache-2.0
#include "db/file/database_file.h"

#include <fcntl.h>
#include <sqlite3.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string_view>
#include <system_error>

#include "core/files/own_folder.h"
#include "db/database_impl.h"
#include "db/file/file_header.h"
#include "db/schema/rows.h"
#include "db/schema/schema.h"
#include "db/schema/schema_check.h"

namespace gemm_tune {
namespace {

namespace fs = std::filesystem;
using Mode = Database::Mode;
using std::chrono::milliseconds;

std::string reason(int error) { return std::generic_category().message(error); }

// For the effective user, as for open().
bool accessible(const fs::path& path, int mode) {
  return faccessat(AT_FDCWD, path.c_str(), mode, AT_EACCESS) == 0;
}

// Whether the path names a regular file, without opening it: SQLite would wait at a pipe and take a
// folder for a failing disk.
bool is_file(const fs::path& path) {
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (status.type() == fs::file_type::not_found) return false;
  if (error) throw database_error(path, "cannot be read: " + error.message());
  if (fs::is_directory(status)) {
    throw database_error(path, "is a directory: name a file in it");
  }
  if (!fs::is_regular_file(status)) {
    throw database_error(path, "is not a regular file: name another one");
  }
  if (!accessible(path, R_OK)) throw database_error(path, "cannot be read: " + reason(errno));
  return true;
}

// No earlier version of the schema has this application id.
DatabaseError of_a_later_version(const fs::path& path, std::int64_t schema) {
  return database_error(path, "was written by a later version of gemm-tune (schema " +
                                  std::to_string(schema) + ", this program reads schema " +
                                  std::to_string(kSchemaVersion) +
                                  "): use that version, or name another file");
}

// Must precede the first statement: SQLite would create side files beside a foreign file.
void require_ours(const fs::path& path, const FileHeader& header) {
  const bool is_short = header.file_bytes < kFileHeaderBytes,
             our_id = header.application_id == kApplicationId;
  if (is_short ? header.has_magic : !header.has_magic && our_id) {
    throw damaged(path, is_short ? "it ends after " + std::to_string(header.file_bytes) + " bytes"
                                 : "its first bytes are not a database's");
  }
  if (!header.has_magic) {
    throw database_error(path, "is not a database: name a gemm-tune database or a new file");
  }
  if (header.application_id == kEarlierApplicationId) {
    throw database_error(path,
                         "was written before gemm-tune's first release, and nothing reads it "
                         "any more: name a new file and tune again");
  }
  if (!our_id || header.user_version == 0) {
    throw database_error(path,
                         "belongs to another program: name a gemm-tune database or a new file");
  }
  if (header.user_version != kSchemaVersion) {
    throw of_a_later_version(path, header.user_version);
  }
}

// SQLite's own busy handler waits up to 100 ms between two looks at the lock, but a writer holds it
// for less than one. Among many writers, some would wait for seconds. This handler looks every 2
// ms.
int wait_for_lock(void* lock_wait, int looks) {
  constexpr milliseconds kPause{2}, kSilence{1000};
  const auto& lock = *static_cast<const LockWait*>(lock_wait);
  if (looks * kPause >= lock.timeout) return 0;
  if (looks * kPause == kSilence && lock.on_wait) lock.on_wait();
  lock.pause(kPause);
  return 1;
}

SQLite::Database connect(const std::string& name, int flags, const LockWait& lock) {
  SQLite::Database db(name, flags);
  sqlite3_busy_handler(db.getHandle(), wait_for_lock, const_cast<LockWait*>(&lock));
  disarm(db);
  return db;
}

bool has_side_file(const fs::path& path, const char* suffix) {
  std::error_code error;
  return fs::file_size(path.string() + suffix, error) > 0 && !error;
}

bool has_log(const fs::path& path) { return has_side_file(path, "-wal"); }

// Finds the defects that the header does not show: a later version in the write-ahead log, a file
// shorter than its header says, tables that are not ours or not readable. Takes a millisecond;
// db/file/check.h checks every page, which takes seconds.
void require_readable(const fs::path& path, SQLite::Database& db) {
  if (const auto shortfall = why_truncated(path, db)) throw damaged(path, *shortfall);
  const SQLite::Transaction reading(db);
  const std::int64_t version = db.execAndGet("PRAGMA user_version").getInt64();
  if (version == 0) throw database_error(path, "is empty: tune first");
  if (version != kSchemaVersion) throw of_a_later_version(path, version);
  const SchemaComparison schema = compare_schema(db);
  if (!schema.faults.empty()) throw damaged(path, schema.faults.front());
}

// Forbids direct writes to the schema; no statement of ours makes any.
void defend(SQLite::Database& db) {
  sqlite3_db_config(db.getHandle(), SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
}

// keep: leaves the log beside the file. Closing the last connection would otherwise write the log
// into the file.
void keep_log(SQLite::Database& db, bool keep) {
  sqlite3_db_config(db.getHandle(), SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, keep ? 1 : 0, nullptr);
}

// Percent-encodes the characters that an SQLite URI treats specially.
std::string immutable_uri(const fs::path& path) {
  // The empty authority: a path that begins with two slashes would otherwise begin with one.
  std::string uri = path.is_absolute() ? "file://" : "file:";
  for (const char c : path.string()) {
    if (c == '%' || c == '?' || c == '#') {
      constexpr char kHex[] = "0123456789abcdef";
      uri += {'%', kHex[c / 16], kHex[c % 16]};
    } else {
      uri += c;
    }
  }
  return uri + "?immutable=1";
}

struct Connected {
  SQLite::Database db;
  FileHeader header;
};

// Connects to a file whose header names it a gemm-tune database.
Connected connect_to_ours(const fs::path& path, const std::string& name, int flags,
                          const LockWait& lock) {
  SQLite::Database db = connect(name, flags, lock);
  const FileHeader header = read_file_header(db);
  if (header.file_bytes == 0) throw database_error(path, "is empty: tune first");
  require_ours(path, header);
  return {std::move(db), header};
}

// Opens the file for writing if it allows that, but never writes: SQLite removes the write-ahead
// log's side files on closing only if the connection may write.
Connected connect_without_writing(const fs::path& path, const LockWait& lock) {
  Connected connected = connect_to_ours(path, path.string(), SQLite::OPEN_READWRITE, lock);
  if (has_log(path)) keep_log(connected.db, true);
  connected.db.exec("PRAGMA query_only = ON");
  return connected;
}

int first_look(SQLite::Database& db) { return db.tryExec("PRAGMA user_version"); }

Connected connect_for_reading(const fs::path& path, const LockWait& lock) {
  try {
    Connected connected = connect_without_writing(path, lock);
    int look = first_look(connected.db);
    if (look == SQLITE_IOERR || look == SQLITE_FULL) {
      // The disk may lack room for the log's index. A connection with exclusive access needs no
      // index.
      connected = connect_without_writing(path, lock);
      connected.db.exec("PRAGMA locking_mode = EXCLUSIVE");
      look = first_look(connected.db);
    }
    if (look != SQLITE_CANTOPEN && look != SQLITE_READONLY) return connected;
  } catch (const SQLite::Exception& error) {
    if (error.getErrorCode() != SQLITE_CANTOPEN && error.getErrorCode() != SQLITE_READONLY) throw;
  }
  // A folder that cannot be written has no side files, hence no writer either.
  if (has_log(path)) {
    throw database_error(path, "cannot be read: '" + path.string() +
                                   "-wal' holds changes, and its folder is not writable");
  }
  return connect_to_ours(path, immutable_uri(path), SQLite::OPEN_READONLY | SQLite::OPEN_URI, lock);
}

Connected connect_immutable(const fs::path& path, const LockWait& lock) {
  const bool has_journal = has_side_file(path, "-journal");
  if (has_log(path) || has_journal) {
    throw database_error(path, "cannot be read: the " +
                                   std::string(has_journal ? "journal" : "log") +
                                   " beside it holds changes");
  }
  return connect_to_ours(path, immutable_uri(path), SQLite::OPEN_READONLY | SQLite::OPEN_URI, lock);
}

OpenDatabase open_for_reading(const fs::path& path, Mode mode, const LockWait& lock) {
  Connected connected =
      mode == Mode::immutable ? connect_immutable(path, lock) : connect_for_reading(path, lock);
  SQLite::Database& db = connected.db;
  require_readable(path, db);
  keep_log(db, false);
  defend(db);
  return {std::move(db), connected.header.has_wal_format};
}

void create_schema(SQLite::Database& db) {
  SQLite::Transaction transaction(db, SQLite::TransactionBehavior::IMMEDIATE);
  // Another process may have created the schema meanwhile.
  if (db.execAndGet("PRAGMA application_id").getInt64() == kApplicationId) return;
  db.exec(kSchema);
  transaction.commit();
}

void choose_journal(SQLite::Database& db, bool rollback) {
  SQLite::Statement change(db,
                           rollback ? "PRAGMA journal_mode = DELETE" : "PRAGMA journal_mode = WAL");
  // The file stores the mode. It cannot change while others use the file, and SQLite does not wait
  // for that. Both modes are correct; the next opening tries again.
  const int result = change.tryExecuteStep();
  if (result == SQLITE_BUSY) return;
  if (result != SQLITE_ROW) throw SQLite::Exception(db.getHandle(), result);
  // With the log, a power cut can lose at most the last rows.
  if (change.getColumn(0).getString() == "wal") db.exec("PRAGMA synchronous = NORMAL");
}

OpenDatabase open_for_writing(const fs::path& path, const LockWait& lock,
                              Database::Journaling journaling) {
  SQLite::Database db = connect(path.string(), SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE, lock);
  const FileHeader header = read_file_header(db);
  if (header.file_bytes > 0) require_ours(path, header);
  if (has_log(path)) keep_log(db, true);
  // A process that was killed while it made the file has left a journal, which takes all of it
  // back.
  if (header.file_bytes == 0 || has_side_file(path, "-journal")) create_schema(db);
  require_readable(path, db);
  defend(db);
  keep_log(db, false);
  db.exec("PRAGMA foreign_keys = ON");
  choose_journal(
      db, journaling == Database::Journaling::rollback || network_file_system(path.parent_path()));
  return {std::move(db), false};
}

void in_transaction(SQLite::Database& db, const std::function<void(SQLite::Database&)>& change) {
  SQLite::Transaction transaction(db, SQLite::TransactionBehavior::IMMEDIATE);
  change(db);
  transaction.commit();
}

// Of a link that leads to no file, where the file would be. The system has refused circular links.
fs::path behind_links(fs::path path) {
  while (fs::is_symlink(fs::symlink_status(path))) {
    path = path.parent_path() / fs::read_symlink(path);
  }
  return path;
}

// Gives a file its place, unless another process has put one there.
void take_place(const fs::path& file, const fs::path& path) {
  int error = is_file(path) ? EEXIST : 0;
  if (error == 0) {
    // SQLite would take what an earlier file has left for changes of this one.
    std::error_code ignored;
    for (const char* const suffix : {"-wal", "-shm", "-journal"}) {
      fs::remove(path.string() + suffix, ignored);
    }
    if (renameat2(AT_FDCWD, file.c_str(), AT_FDCWD, path.c_str(), RENAME_NOREPLACE) != 0) {
      error = errno;
    }
  }
  if (error == EINVAL || error == ENOSYS) {  // a file system that only replaces
    error = is_file(path) ? EEXIST : rename(file.c_str(), path.c_str()) != 0 ? errno : 0;
  }
  if (error == EEXIST) {
    throw database_error(path, "was made by another process meanwhile: try again");
  }
  if (error != 0) throw database_error(path, "cannot be created: " + reason(error));
}

void make_database(const fs::path& path, const LockWait& lock,
                   const std::function<void(SQLite::Database&)>& change) try {
  require_writable_place(path);
  const OwnFolder aside = folder_aside(path.parent_path());
  const fs::path file = aside.path() / "new";
  guarded(path, [&] {
    OpenDatabase made = open_for_writing(file, lock, Database::Journaling::by_file_system);
    in_transaction(made.connection, change);
    // Closing would not say that the log found no room in the file.
    made.connection.exec("PRAGMA wal_checkpoint(TRUNCATE)");
  });
  take_place(file, path);
} catch (const std::system_error& error) {
  throw database_error(path, "cannot be created: " + error.code().message());
}

void json_valid(sqlite3_context* context, int, sqlite3_value** arguments) {
  const auto* const text = sqlite3_value_text(arguments[0]);
  if (text == nullptr) return sqlite3_result_null(context);
  const auto size = static_cast<std::size_t>(sqlite3_value_bytes(arguments[0]));
  sqlite3_result_int(context, nlohmann::json::accept(text, text + size) ? 1 : 0);
}

}  // namespace

std::optional<FileId> file_id(const fs::path& path) {
  struct stat info {};
  if (stat(path.c_str(), &info) != 0) return std::nullopt;
  return FileId{info.st_dev, info.st_ino};
}

void change_database(const fs::path& path, const LockWait& lock,
                     const std::function<void(SQLite::Database&)>& change) {
  if (!is_file(path)) return make_database(behind_links(path), lock, change);
  guarded(path, [&] {
    OpenDatabase opened =
        open_database(path, Mode::create_or_open, lock, Database::Journaling::by_file_system);
    in_transaction(opened.connection, change);
  });
}

void require_new(const fs::path& path) {
  if (is_file(path)) throw database_error(path, "exists already: name a new file");
  require_writable_place(path);
}

// The folder must be writable for the side files. SQLite itself would fall back to read-only
// without a message.
void require_writable_place(const fs::path& path) {
  const fs::path folder = path.parent_path();
  std::error_code error;
  if (!fs::is_directory(folder, error)) {
    throw database_error(path, "cannot be created: folder '" + folder.string() +
                                   "' does not exist; create it or name another one");
  }
  if (!accessible(folder, W_OK | X_OK)) {
    throw database_error(path, "cannot be written: folder '" + folder.string() +
                                   "' is not writable (" + reason(errno) + ")");
  }
  if (fs::exists(path, error) && !accessible(path, W_OK)) {
    throw database_error(path, "cannot be written: the file is read-only (" + reason(errno) + ")");
  }
}

void disarm(SQLite::Database& db) {
  sqlite3* const handle = db.getHandle();
  // Our tables' constraints call json_valid(). Not every release of SQLite marks its own as
  // innocuous, so this function replaces it.
  sqlite3_create_function_v2(handle, "json_valid", 1,
                             SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_INNOCUOUS, nullptr,
                             json_valid, nullptr, nullptr, nullptr);
  for (const int feature : {SQLITE_DBCONFIG_TRUSTED_SCHEMA, SQLITE_DBCONFIG_ENABLE_TRIGGER,
                            SQLITE_DBCONFIG_ENABLE_VIEW}) {
    sqlite3_db_config(handle, feature, 0, nullptr);
  }
  constexpr int kLongestText = 16'000'000;  // bytes of a text or row; a damaged length may say more
  sqlite3_limit(handle, SQLITE_LIMIT_LENGTH, kLongestText);
}

std::optional<std::string> why_truncated(const fs::path& path, SQLite::Database& db) {
  // During this transaction no writer changes the header or the pages that it counts. The
  // statements below need no table, because the tables may be the damaged part.
  const SQLite::Transaction reading(db);
  db.execAndGet("PRAGMA schema_version");
  if (has_log(path)) return std::nullopt;
  const FileHeader header = read_file_header(db);
  const auto page_size = static_cast<std::uint64_t>(db.execAndGet("PRAGMA page_size").getInt64());
  const std::uint64_t meant = header.page_count * page_size;
  if (header.file_bytes >= meant) return std::nullopt;
  return "it ends after " + std::to_string(header.file_bytes) + " of " + std::to_string(meant) +
         " bytes";
}

fs::path absolute_path(const fs::path& path) {
  std::error_code error;
  const fs::path absolute = fs::absolute(path, error);
  if (!error) return absolute;
  throw database_error(path, "cannot be found from the working directory (" + error.message() +
                                 "): give its absolute path");
}

OpenDatabase open_database(const fs::path& path, Mode mode, const LockWait& lock,
                           Database::Journaling journaling) {
  const bool existed = is_file(path);
  if (mode == Mode::create_or_open) require_writable_place(path);
  try {
    if (mode == Mode::create_or_open) return open_for_writing(path, lock, journaling);
    if (!existed) throw database_error(path, "does not exist: tune first");
    return open_for_reading(path, mode, lock);
  } catch (const SQLite::Exception& error) {
    // Leave no empty file behind if there was no file before.
    std::error_code ignored;
    if (!existed && fs::file_size(path, ignored) == 0) fs::remove(path, ignored);
    throw translated(path, error);
  }
}

SQLite::Database open_unchecked(const fs::path& path, const LockWait& lock) {
  if (!is_file(path)) throw database_error(path, "does not exist");
  try {
    SQLite::Database db = connect_for_reading(path, lock).db;
    db.exec("PRAGMA writable_schema = ON");  // without it SQLite does not read a truncated file
    return db;
  } catch (const SQLite::Exception& error) {
    throw translated(path, error);
  }
}

// Write-ahead logging shares memory between processes, which network file systems do not.
std::optional<std::string> network_file_system(const fs::path& folder) {
  struct Kind {
    std::uint32_t magic;  // of statfs(2)
    const char* name;
  };
  constexpr std::array<Kind, 11> kKinds = {{{0x6969, "NFS"},
                                            {0x517B, "SMB"},
                                            {0xFF534D42, "CIFS"},
                                            {0xFE534D42, "SMB2"},
                                            {0x0BD00BD0, "Lustre"},
                                            {0x47504653, "GPFS"},
                                            {0x19830326, "BeeGFS"},
                                            {0x00C36400, "Ceph"},
                                            {0x5346414F, "AFS"},
                                            {0x01021997, "9P"},
                                            {0x65735546, "FUSE"}}};
  struct statfs info;
  if (statfs(folder.c_str(), &info) != 0) return "unknown";  // the safer assumption
  for (const Kind& kind : kKinds) {
    if (kind.magic == static_cast<std::uint32_t>(info.f_type)) return kind.name;
  }
  return std::nullopt;
}

}  // namespace gemm_tune
