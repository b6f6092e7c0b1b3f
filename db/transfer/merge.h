// SPDX-License-Identifier: Apache-2.0
// Brings the rows of several databases together.
//
// A row is known by its origin: its run's UUID, its moment, device, problem, candidate and all that
// was measured. A row that several databases hold is stored once, and nothing else is left out. The
// result does not depend on the order of the inputs: in a new file not even the ids do. Which row
// of a candidate counts, and which candidate wins, follows from the rows as ever: of finals of
// different runs, the one whose winner is faster decides (db/schema/schema.sql). Any thread.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "db/lock_wait.h"
#include "db/record.h"

namespace gemm_tune {

// A candidate whose rows that count have different dispositions in different databases.
struct Contradiction {
  struct Side {
    std::filesystem::path database;
    Disposition disposition = Disposition::ok;
    std::optional<double> median_us;
    std::string reason, recorded_at;
  };
  DeviceKey device;
  std::string problem, config, revision;
  Source source = Source::measured;
  Disposition disposition = Disposition::ok;  // of the row that counts in the merged database
  std::string recorded_at;                    // of that row
  std::vector<Side> sides;                    // by recorded_at, then by path
};

struct MergeReport {
  std::int64_t rows = 0;                      // of candidates, in the output
  std::int64_t added = 0;                     // of these: not in the output before
  std::vector<Contradiction> contradictions;  // by device, problem and config
};

// Adds the rows of the inputs to `output` in one transaction, or makes a new file of them. The
// inputs are only read; an input that is the output is passed over. revisions: the program's,
// by which the view `winners` chooses. Throws DatabaseError if an input or the output is
// damaged or cannot be read or written; the output is then as it was.
MergeReport merge_databases(const std::vector<std::filesystem::path>& inputs,
                            const std::filesystem::path& output, const KernelRevisions& revisions,
                            const LockWait& lock = {});

}  // namespace gemm_tune
