// SPDX-License-Identifier: Apache-2.0
// The part of db/file/check.h that reads rows: for a database in memory, whose pages are sound.
//
// Private to db/. Use the connection from one thread.
#pragma once

#include <SQLiteCpp/SQLiteCpp.h>

#include <filesystem>
#include <string>
#include <vector>

namespace gemm_tune {

// One line per finding, as in "measurements row 7: its samples are none": references to rows that
// do not exist, and values that the program would refuse to read. path: for messages.
std::vector<std::string> check_rows_of(const std::filesystem::path& path, SQLite::Database& db);

}  // namespace gemm_tune
