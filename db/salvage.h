// SPDX-License-Identifier: Apache-2.0
// Makes a new database of the readable rows of a damaged one.
//
// Rows are read along SQLite's own trees first, then leaf by leaf: each page that looks like a
// table's leaf is read as if it were the whole table. A lost root or a lost schema therefore loses
// no sound row. Rows that the new schema's constraints or the program's own parsers refuse are left
// behind. The damaged file is only read; it need not even have a header. Any thread.
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
  std::int64_t lost = 0;  // at least: rows that have left a trace
};

// output: a file that does not exist yet. Throws DatabaseError if it exists, if the damaged file
// cannot be read, or if no candidate's row can be read; there is then no output.
std::vector<SalvagedTable> salvage_database(const std::filesystem::path& damaged,
                                            const std::filesystem::path& output,
                                            const LockWait& lock = {});

}  // namespace gemm_tune
