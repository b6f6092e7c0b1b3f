// SPDX-License-Identifier: Apache-2.0
// The view `winners` of db/schema/schema.sql, but with the caller's revisions in place of the
// file's, and by any rule (core/candidate/winner_rule.h).
//
// The query is a part of the view's text, so that "best" has one definition: temporary tables hide
// the file's tables of the same names. Private to db/. Use the connection from one thread.
#pragma once

#include <SQLiteCpp/SQLiteCpp.h>

#include <cstdint>
#include <string>
#include <vector>

#include "db/database.h"

namespace gemm_tune {

// During its lifetime, temp.families are the revisions. Writes nothing to the file.
class WinnersByRevisions {
 public:
  WinnersByRevisions(SQLite::Database& db, const KernelRevisions& revisions);
  ~WinnersByRevisions();
  WinnersByRevisions(const WinnersByRevisions&) = delete;
  WinnersByRevisions& operator=(const WinnersByRevisions&) = delete;

  // Only usable rows win from now on.
  void leave_out_others(const Database::RowFilter& usable);

  // The query of winners(), with the parameters :arch and, with a limit of errors, :max_error.
  // of_usable: by the function may_win() of leave_out_others().
  static std::string query(const WinnerRule& rule, bool of_usable = false);

  // The ids of the measurements that win on devices of the architecture, of problems that this
  // program knows, by device and problem.
  std::vector<std::int64_t> winners(const std::string& arch, const WinnerRule& rule = {}) const;

 private:
  SQLite::Database& db_;
  const bool query_only_;  // the connection's setting before
  bool of_usable_ = false;
};

}  // namespace gemm_tune
