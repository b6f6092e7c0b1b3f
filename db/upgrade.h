// SPDX-License-Identifier: Apache-2.0
// From versions 1 and 2 of the schema to the current one.
//
// Every row is kept. Version 1 names a kernel by the hash of its text. If the text is known
// (kernel_templates/source.h), the hash is replaced by the identity of that text, and its tokens
// are stored so that `db rekey` can compare them with the current kernel's. Other hashes stay, and
// their rows count as those of another kernel. The same file always gives the same rows, the runs'
// UUIDs included. Version 2 lacks the errors of results, which its rows keep lacking. Private to
// db/. Use the connection from one thread.
#pragma once

#include <SQLiteCpp/SQLiteCpp.h>

#include <optional>
#include <string>

namespace gemm_tune {

// Why a database of an earlier version cannot be upgraded, and what to do about it: a table, view
// or index of the user's own has a name that the upgrade needs.
std::optional<std::string> why_not_upgradable(SQLite::Database& db);

// Upgrades a schema of version 1 or 2. Call inside a transaction, without foreign keys enforced.
// Throws SQLite::Exception, also if a row breaks the schema's rules.
void upgrade_schema(SQLite::Database& db);

// An upgraded copy of the database in memory; the file does not change. The file may have been
// upgraded meanwhile. For version 1, whose tables are others.
SQLite::Database upgraded_copy(SQLite::Database& db);

// Lets statements of the current schema read a file of version 2 as it is: temporary views hide its
// tables and give the missing columns as NULL. Does nothing for the current version. Writes nothing
// to the file.
void show_as_current(SQLite::Database& db);

// "SELECT * FROM main.measurements" with the current schema's columns.
std::string select_measurements(SQLite::Database& db);

}  // namespace gemm_tune
