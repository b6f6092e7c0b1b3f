// SPDX-License-Identifier: Apache-2.0
// Whether the tables, views and triggers of a database file are those that this program makes.
//
// SQLite executes the schema of the file that it opens: a view under a table's name may have no
// end, a trigger acts on every row that is stored. So the schema's text is compared with ours
// before a statement uses it; reading the text executes nothing. Private to db/. Any thread.
#pragma once

#include <SQLiteCpp/SQLiteCpp.h>

#include <string>
#include <vector>

namespace gemm_tune {

struct SchemaComparison {
  // Each makes the file unusable: "its table 'runs' is a view".
  std::vector<std::string> faults;
  // What stands beside our tables and is never read: "table 'mine'". No more than 100 of either.
  std::vector<std::string> foreign;
};

// db's schema held against the one that `version` of the schema makes. Plain indexes on our tables
// and the statistics of ANALYZE are neither faults nor foreign. Missing views are no fault: the
// program does not read them. Throws SQLite::Exception where SQLite cannot read the schema.
SchemaComparison compare_schema(SQLite::Database& db, int version);

// The tables of that version of the schema: parents before those that refer to them, and at last
// the one that a database is for.
const std::vector<std::string>& tables_of(int version);

// Whether the file's table of that name is the one of any version that this program knows.
bool is_known_table(SQLite::Database& db, const std::string& table);

}  // namespace gemm_tune
