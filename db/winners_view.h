// SPDX-License-Identifier: Apache-2.0
// The view `winners` of db/schema.sql, but with the caller's kernels in place of is_current.
//
// The view's text is the schema's own, so that "best" has one definition: temporary objects hide
// the file's objects of the same names. Private to db/. Use the connection from one thread.
#pragma once

#include <SQLiteCpp/SQLiteCpp.h>

#include <string>

#include "db/database.h"

namespace gemm_tune {

// During its lifetime temp.winners judges by these hashes; read temp.winners only. Writes nothing
// to the file.
class JudgedWinners {
 public:
  JudgedWinners(SQLite::Database& db, const KernelHashes& hashes);
  ~JudgedWinners();
  JudgedWinners(const JudgedWinners&) = delete;
  JudgedWinners& operator=(const JudgedWinners&) = delete;

  // Treats the kernels whose text is stored like the caller's from now on.
  void take_kernels_with_text() const;

  // Leaves out the rows of configs that are not usable from now on.
  void leave_out(const Database::ConfigFilter& usable) const;

  // Keeps only the measured rows whose error is at most so many times that of cuBLAS in their run,
  // and whose twins are not known to be unverified; of these the rows of usable configs, if a
  // filter is given.
  void keep_within(double max_error, const Database::ConfigFilter& usable) const;

 private:
  void refuse(const Database::ConfigFilter& usable, const std::string& admitted) const;

  SQLite::Database& db_;
  const bool query_only_;  // the connection's setting before
};

// Selects the ids of the measurements in temp.winners for :arch, for problems that this program
// knows.
std::string select_winners();

}  // namespace gemm_tune
