// SPDX-License-Identifier: Apache-2.0
// Opens a path as an SQLite connection, or explains in one sentence why it cannot.
//
// SQLite would open a foreign database, create side files beside it or fall back to read-only
// without a message. The file and its folder are therefore checked before SQLite touches them, and
// a refused file stays unchanged. Private to db/. Stateless; any thread.
#pragma once

#include <SQLiteCpp/SQLiteCpp.h>
#include <sys/types.h>

#include <filesystem>
#include <functional>
#include <optional>
#include <string>

#include "db/database.h"
#include "db/file/database_error.h"
#include "db/file/network_file_system.h"
#include "db/lock_wait.h"

namespace gemm_tune {

struct OpenDatabase {
  SQLite::Database connection;
  // The file is journalled by a write-ahead log, even if the connection does not say so: a reader
  // without write access does not use the log.
  bool reads_wal_format = false;
};

// path: absolute, so that SQLite takes no path for a URI or a special name. lock: must outlive the
// connection. A file of a later version of the schema is refused. Throws DatabaseError.
OpenDatabase open_database(const std::filesystem::path& path, Database::Mode mode,
                           const LockWait& lock, Database::Journaling journaling);

// Identifies a file, whatever its name.
struct FileId {
  dev_t device = 0;
  ino_t inode = 0;
  friend bool operator==(const FileId&, const FileId&) = default;
};
// Of the file at the path; nullopt if there is none.
std::optional<FileId> file_id(const std::filesystem::path& path);

// Calls `change` in one transaction of the database at the path, which it creates if there is none.
// path: absolute. A new one is made in a folder aside and appears whole, or not at all where the
// process is killed. Throws DatabaseError, or what `change` throws: an existing database is then as
// it was.
void change_database(const std::filesystem::path& path, const LockWait& lock,
                     const std::function<void(SQLite::Database&)>& change);

// Throws DatabaseError if the absolute path is taken or a file cannot be created there.
void require_new(const std::filesystem::path& path);

// Throws DatabaseError unless a database at the path can be created or written.
void require_writable_place(const std::filesystem::path& path);

// Opens a file that may be damaged, for reading. Its header must name it a gemm-tune database; its
// schema may come from anybody (db/schema/schema_check.h). Does not change the file or a log beside
// it.
SQLite::Database open_unchecked(const std::filesystem::path& path, const LockWait& lock);

// Keeps the file's views, triggers and untrusted functions from being executed. Must be called for
// every connection to a file or to its bytes.
void disarm(SQLite::Database& db);

// "it ends after N of M bytes" if the file is shorter than its header says; SQLite does not notice
// that if only a part of the last page is missing. nullopt while there is a log: its pages are
// copied into the file in their order.
std::optional<std::string> why_truncated(const std::filesystem::path& path, SQLite::Database& db);

// The absolute path of a database. Throws DatabaseError if the working directory is gone.
std::filesystem::path absolute_path(const std::filesystem::path& path);

}  // namespace gemm_tune
