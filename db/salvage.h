// SPDX-License-Identifier: Apache-2.0
// Makes a new database of what can still be read of a damaged one.
//
// First along SQLite's own trees, then leaf by leaf: every page that looks like one of a table is
// read as if it were the whole table, so that neither a lost root nor a lost schema takes sound
// rows with it. What the new schema's constraints and the program's own parsers refuse is left
// behind. The damaged file is only read; it need not even have a header. Any thread.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "db/lock_wait.h"

namespace gemm_tune {

struct SalvagedTable {
  std::string name;
  std::int64_t kept = 0;
  std::int64_t lost = 0;  // at least: rows of which there is still a trace
};

// output: a file that does not exist yet. Throws DatabaseError where it does, where the damaged
// file cannot be read, and, leaving no output, where no candidate's row can be.
std::vector<SalvagedTable> salvage_database(const std::filesystem::path& damaged,
                                            const std::filesystem::path& output,
                                            const LockWait& lock = {});

}  // namespace gemm_tune
