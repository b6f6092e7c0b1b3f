// SPDX-License-Identifier: Apache-2.0
// The rows that one database has and another has not, and the winners in which the two differ.
//
// Rows are compared by their origin, as db/transfer/merge.h says. Both files are only read. Any
// thread.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "db/lock_wait.h"
#include "db/record.h"

namespace gemm_tune {

struct DatabaseDifference {
  // The rows of b that a has not, for one problem on one device.
  struct Rows {
    DeviceKey device;
    std::string problem;
    std::map<std::pair<Source, Disposition>, std::int64_t> counts;
  };
  // Two winners with different configs, or a winner where the other database has none.
  struct Winner {
    DeviceKey device;
    std::string problem;
    std::optional<Record> a, b;
  };
  std::int64_t rows = 0;         // that b has and a has not
  std::vector<Rows> by_problem;  // by device and problem, as in the view `winners`
  std::vector<Winner> winners;   // by device and problem
};

// revisions: the program's, by which the winners are chosen. Throws DatabaseError if a file is
// damaged or cannot be read.
DatabaseDifference compare_databases(const std::filesystem::path& a, const std::filesystem::path& b,
                                     const KernelRevisions& revisions, const LockWait& lock = {});

}  // namespace gemm_tune
