// From a path to an open SQLite connection, or one sentence on why there is none.
//
// SQLite would open a foreign database, create side files beside it or fall back to read-only
// without a word; so the file and its folder are judged before SQLite touches them, and what is
// refused stays as it was. Private to db/. Stateless; any thread.
#pragma once

#include <SQLiteCpp/SQLiteCpp.h>

#include <chrono>
#include <filesystem>
#include <string>

#include "core/error.h"
#include "db/database.h"

namespace gemm_tune {

// path: absolute, so that SQLite takes none for a URI or a special name. Throws DatabaseError.
SQLite::Database open_database(const std::filesystem::path& path, Database::Mode mode,
                               std::chrono::milliseconds lock_timeout);

// What SQLite reports, as a sentence for the user.
DatabaseError translated(const std::filesystem::path& path, const SQLite::Exception& error);

// "database '/path' what": the start of every sentence about a database.
DatabaseError database_error(const std::filesystem::path& path, const std::string& what);

}  // namespace gemm_tune
