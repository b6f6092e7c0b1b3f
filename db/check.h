// SPDX-License-Identifier: Apache-2.0
// Looks for damage everywhere in a database: what opening it does not take the time for.
//
// SQLite's own checks of every page, index, constraint and reference, then every row read as this
// program would read it. Bits that flipped inside a number or a name and left a sensible one are
// beyond it: rows carry no checksums. Reads the whole file and writes nothing. Any thread.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "db/lock_wait.h"

namespace gemm_tune {

// One line for each finding, no more than about a hundred; none where the database is sound. Where
// the schema is not ours, that is all that is said: looking further would execute it. Throws
// DatabaseError where the file cannot be read or is no gemm-tune database.
std::vector<std::string> check_database(const std::filesystem::path& path,
                                        const LockWait& lock = {});

// What stands in a sound database beside our tables and views, which this program never reads:
// "table 'mine'".
std::vector<std::string> foreign_objects(const std::filesystem::path& path,
                                         const LockWait& lock = {});

}  // namespace gemm_tune
