// SPDX-License-Identifier: Apache-2.0
// Checks all of a database for damage. Opening it checks only as much as takes no time.
//
// Runs SQLite's own checks of every page, index, constraint and reference, then reads every row as
// the program would. A flipped bit that leaves a sensible number or name is not found: rows carry
// no checksums. Reads the whole file and writes nothing. Any thread.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "db/lock_wait.h"

namespace gemm_tune {

// One line per finding, at most about a hundred; none if the database is sound. If the schema is
// not ours, that is the only finding, because a further check would execute the schema. Throws
// DatabaseError if the file cannot be read or is not a gemm-tune database.
std::vector<std::string> check_database(const std::filesystem::path& path,
                                        const LockWait& lock = {});

// The command of SQLite's shell that writes the readable rows of a damaged file into a new one.
std::string recovery_command(const std::filesystem::path& path);

// The tables and views in a sound database that are not ours, as "table 'mine'". The program never
// reads them.
std::vector<std::string> foreign_objects(const std::filesystem::path& path,
                                         const LockWait& lock = {});

}  // namespace gemm_tune
