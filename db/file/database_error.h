// SPDX-License-Identifier: Apache-2.0
// The error messages about a database file that cannot be used.
//
// Private to db/. Stateless; any thread.
#pragma once

#include <SQLiteCpp/SQLiteCpp.h>

#include <cstddef>
#include <filesystem>
#include <string>

#include "core/error.h"

namespace gemm_tune {

// The most bytes of SQLite's words in a sentence: it quotes a damaged schema from the fault to its
// end.
inline constexpr std::size_t kLongestFault = 200;

// SQLite's error as a sentence for the user.
DatabaseError translated(const std::filesystem::path& path, const SQLite::Exception& error);

// "database '/path' is damaged (what): ...", and what to do about it.
DatabaseError damaged(const std::filesystem::path& path, const std::string& what);

// The path no longer leads to the file into which a run stored its rows.
DatabaseError moved_away(const std::filesystem::path& path);

// "database '/path' ...": the form of all messages about a database. what: the rest of the
// sentence.
DatabaseError database_error(const std::filesystem::path& path, const std::string& what);

}  // namespace gemm_tune
