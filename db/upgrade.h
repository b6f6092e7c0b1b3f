// SPDX-License-Identifier: Apache-2.0
// From version 1 of the schema to the current one.
//
// Every row is kept. Version 1 names a kernel by the hash of its text. If the text is known
// (kernel_templates/source.h), the hash is replaced by the identity of that text, and its tokens
// are stored so that `db rekey` can compare them with the current kernel's. Other hashes stay, and
// their rows count as those of another kernel. The same file always gives the same rows, the runs'
// UUIDs included. Private to db/. Use the connection from one thread.
#pragma once

#include <SQLiteCpp/SQLiteCpp.h>

#include <optional>
#include <string>

namespace gemm_tune {

// Why a database of version 1 cannot be upgraded, and what to do about it: a table, view or index
// of the user's own has a name that version 2 needs.
std::optional<std::string> why_not_upgradable(SQLite::Database& db);

// Call inside a transaction, without foreign keys enforced, on a schema of version 1. Throws
// SQLite::Exception, also if a row breaks the schema's rules.
void upgrade_from_version_1(SQLite::Database& db);

// An upgraded copy of the database in memory; the file does not change. The file may have been
// upgraded meanwhile.
SQLite::Database upgraded_copy(SQLite::Database& db);

}  // namespace gemm_tune
