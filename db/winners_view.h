// SPDX-License-Identifier: Apache-2.0
// The view `winners` of db/schema.sql with kernels of the caller's choice in place of is_current.
//
// The view's text is the schema's own: temporary objects of the same names stand in for the file's,
// so that there is one definition of best. Private to db/. Use the connection from one thread.
#pragma once

#include <SQLiteCpp/SQLiteCpp.h>

#include <string>

#include "db/database.h"

namespace gemm_tune {

// While it lives, temp.winners judges by these hashes, and temp.winners alone should be read.
// Writes nothing to the file.
class JudgedWinners {
 public:
  JudgedWinners(SQLite::Database& db, const KernelHashes& hashes);
  ~JudgedWinners();
  JudgedWinners(const JudgedWinners&) = delete;
  JudgedWinners& operator=(const JudgedWinners&) = delete;

  // From now on the kernels whose text is stored are taken for the caller's, too.
  void take_kernels_with_text() const;

  // From now on without the rows of configs that are not usable.
  void leave_out(const Database::ConfigFilter& usable) const;

 private:
  SQLite::Database& db_;
  const bool query_only_;  // of the connection, before
};

// Selects the ids of measurements that temp.winners finds for :arch, of problems that this program
// knows.
std::string select_winners();

}  // namespace gemm_tune
