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

// Compares db's schema with db/schema/schema.sql. Indexes on our tables that are
// not unique, and the statistics of ANALYZE are neither faults nor foreign. Missing views are no
// fault: the program does not read them. Throws SQLite::Exception if SQLite cannot read the schema.
SchemaComparison compare_schema(SQLite::Database& db);

// The schema's tables. Parents precede the tables that refer to them; the last table is that of the
// results.
const std::vector<std::string>& schema_tables();

// Those without `families`, which each program fills by itself.
std::vector<std::string> exported_tables();

}  // namespace gemm_tune
