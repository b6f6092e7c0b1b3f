// SPDX-License-Identifier: Apache-2.0
// Opens a path as an SQLite connection, or explains in one sentence why it cannot.
//
// SQLite would open a foreign database, create side files beside it or fall back to read-only
// without a message. The file and its folder are therefore checked before SQLite touches them, and
// a refused file stays unchanged. Private to db/. Stateless; any thread.
#pragma once

#include <SQLiteCpp/SQLiteCpp.h>

#include <filesystem>
#include <optional>
#include <string>

#include "db/database.h"
#include "db/database_error.h"
#include "db/lock_wait.h"
#include "db/network_file_system.h"

namespace gemm_tune {

struct OpenDatabase {
  SQLite::Database connection;  // its schema is the current one
  int file_version = 0;         // of the file's schema
  // The file is journalled by a write-ahead log, even if the connection does not say so: a reader
  // without write access does not use the log, and a copy in memory has none.
  bool reads_wal_format = false;
};

// path: absolute, so that SQLite takes no path for a URI or a special name. lock: must outlive the
// connection. A file of an earlier version is upgraded in one transaction if opened for writing,
// and copied into memory and upgraded there if opened for reading. Throws DatabaseError.
OpenDatabase open_database(const std::filesystem::path& path, Database::Mode mode,
                           const LockWait& lock, Database::Journaling journaling);

// Throws DatabaseError unless a database at the path can be created or written.
void require_writable_place(const std::filesystem::path& path);

// Writes the database's pages to a new file; leaves no file if that fails.
void write_database(SQLite::Database& database, const std::filesystem::path& path,
                    const LockWait& lock);

// Copies all pages of a database's main file into another database, which may be new. Throws
// SQLite::Exception.
void copy_pages(SQLite::Database& from, SQLite::Database& to);

// Opens a file that may be damaged, for reading. Its header must name it a gemm-tune database; its
// schema may come from anybody (db/schema_check.h). Does not change the file or a log beside it.
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
