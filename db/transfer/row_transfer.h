// SPDX-License-Identifier: Apache-2.0
// Copies the rows of open databases into another one: the part of db/transfer/merge.h that knows
// the tables.
//
// Private to db/. Use the connections from one thread.
#pragma once

#include <SQLiteCpp/SQLiteCpp.h>

#include <filesystem>
#include <vector>

#include "db/transfer/merge.h"

namespace gemm_tune {

struct TransferSource {
  std::filesystem::path path;  // for messages
  SQLite::Database* db = nullptr;
};

// Call inside a transaction of the output. Every row of the sources and of the output is checked as
// `db check` does; the first that is not sound ends the transfer with a DatabaseError that names
// its database. Also throws SQLite::Exception, of the output.
MergeReport transfer_rows(const std::vector<TransferSource>& sources, const TransferSource& output,
                          const KernelRevisions& revisions);

// A database in memory, to compare or to choose rows.
class MemoryDatabase {
 public:
  MemoryDatabase();
  SQLite::Database& db() { return db_; }

  // Adds the rows of a file. Throws DatabaseError.
  MergeReport add_file(const std::filesystem::path& path, const KernelRevisions& revisions,
                       const LockWait& lock);

  // Removes the baselines without a row of their run, device and problem, and then all that no row
  // refers to.
  void drop_unreferenced();

 private:
  SQLite::Database db_;
};

}  // namespace gemm_tune
