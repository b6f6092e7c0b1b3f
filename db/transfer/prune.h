// SPDX-License-Identifier: Apache-2.0
// A new database without the rows that a person has no more use for. The old one is only read.
//
// Any thread.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "db/lock_wait.h"
#include "db/record.h"

namespace gemm_tune {

// Which rows are left out.
struct PruneRule {
  bool stale = false;     // those of other revisions than the program's (db/validity/validity.h)
  bool failures = false;  // those of candidates whose row that counts is a failure, and other
                          // failures; an earlier time of a failed candidate must not win again
  std::vector<std::string> of{};  // those of these devices, by name or architecture
};

struct PruneReport {
  std::vector<std::pair<std::string, std::int64_t>> removed;  // rows by reason, each row once
  std::int64_t kept = 0;
};

// output: a file that does not exist yet; nullopt: only the report. A baseline goes with the last
// row of its run, device and problem. Throws DatabaseError if the database is damaged or cannot be
// read, or if the output exists; UsageError if it has no device or architecture of a name.
PruneReport prune_database(const std::filesystem::path& database, const PruneRule& rule,
                           const KernelRevisions& revisions,
                           const std::optional<std::filesystem::path>& output,
                           const LockWait& lock = {});

}  // namespace gemm_tune
