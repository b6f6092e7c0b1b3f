// SPDX-License-Identifier: Apache-2.0
// From a path to an open SQLite connection, or one sentence on why there is none.
//
// SQLite would open a foreign database, create side files beside it or fall back to read-only
// without a word; so the file and its folder are judged before SQLite touches them, and what is
// refused stays as it was. Private to db/. Stateless; any thread.
#pragma once

#include <SQLiteCpp/SQLiteCpp.h>

#include <filesystem>
#include <optional>
#include <string>

#include "db/database.h"
#include "db/database_error.h"
#include "db/lock_wait.h"

namespace gemm_tune {

struct OpenDatabase {
  SQLite::Database connection;  // to the current schema
  int file_version = 0;         // of the file's schema
  // The file is journalled by a write-ahead log, though the connection may not say so: one without
  // write access reads without the log, a copy in memory has none.
  bool reads_wal_format = false;
};

// path: absolute, so that SQLite takes none for a URI or a special name. lock: must outlive the
// connection. For writing, a file of an earlier version is upgraded in one transaction; for reading
// it is copied into memory and upgraded there. Throws DatabaseError.
OpenDatabase open_database(const std::filesystem::path& path, Database::Mode mode,
                           const LockWait& lock, Database::Journaling journaling);

// A new file with the database's pages; nothing where it fails.
void write_database(SQLite::Database& database, const std::filesystem::path& path,
                    const LockWait& lock);

// All of a database's main pages into another one, which may be new. Throws SQLite::Exception.
void copy_pages(SQLite::Database& from, SQLite::Database& to);

// For reading a file that may be damaged: all that is asked of it is a header that names it a
// gemm-tune database. Its schema may be anybody's: db/schema_check.h. Leaves the file's bytes
// alone, a log beside it included.
SQLite::Database open_unchecked(const std::filesystem::path& path, const LockWait& lock);

// Lets nothing in a file act by itself: no view, no trigger, no function that SQLite does not vouch
// for. For every connection to a file or its bytes.
void disarm(SQLite::Database& db);

// "it ends after N of M bytes" where the file is shorter than its header says, which SQLite does
// not notice within the last page. nullopt while there is a log: pages are copied from it in their
// order.
std::optional<std::string> why_truncated(const std::filesystem::path& path, SQLite::Database& db);

// The network file system that a folder lies on, where it does.
std::optional<std::string> network_file_system(const std::filesystem::path& folder);

// The absolute path of a database. Throws DatabaseError where the working directory is gone.
std::filesystem::path absolute_path(const std::filesystem::path& path);

}  // namespace gemm_tune
