// SPDX-License-Identifier: Apache-2.0
// The sentences about a database file that cannot be used.
//
// Private to db/. Stateless; any thread.
#pragma once

#include <SQLiteCpp/SQLiteCpp.h>

#include <filesystem>
#include <string>

#include "core/error.h"

namespace gemm_tune {

// What SQLite reports, as a sentence for the user.
DatabaseError translated(const std::filesystem::path& path, const SQLite::Exception& error);

// "database '/path' is damaged (what): ...", and what to do about it.
DatabaseError damaged(const std::filesystem::path& path, const std::string& what);

// "database '/path' what": the start of every sentence about a database.
DatabaseError database_error(const std::filesystem::path& path, const std::string& what);

}  // namespace gemm_tune
