// SPDX-License-Identifier: Apache-2.0
// Whether a database file has the tables, views and triggers that this program creates.
//
// SQLite executes the schema of the file that it opens: a view under a table's name may never end,
// and a trigger acts on every stored row. The schema's text is therefore compared with ours before
// a statement uses it; reading the text executes nothing. Private to db/. Any thread.
#pragma once

#include <SQLiteCpp/SQLiteCpp.h>

#include <string>
#include <vector>

namespace gemm_tune {

struct SchemaComparison {
  // Each fault makes the file unusable: "its table 'runs' is a view".
  std::vector<std::string> faults;
  // Objects that are not ours and are never read, as "table 'mine'". At most 100 of either list.
  std::vector<std::string> foreign;
};

// Compares db's schema with the given version of ours. Plain indexes on our tables and the
// statistics of ANALYZE are neither faults nor foreign. Missing views are no fault: the program
// does not read them. Throws SQLite::Exception if SQLite cannot read the schema.
SchemaComparison compare_schema(SQLite::Database& db, int version);

// The tables of that version of the schema. Parents precede the tables that refer to them; the last
// table is that of the results.
const std::vector<std::string>& tables_of(int version);

// Whether the file's table of that name is ours, in any version that this program knows.
bool is_known_table(SQLite::Database& db, const std::string& table);

}  // namespace gemm_tune
