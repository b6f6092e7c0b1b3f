// SPDX-License-Identifier: Apache-2.0
// From version 1 of the schema to the current one.
//
// Every row is kept. A kernel that version 1 names by the hash of its text becomes the identity of
// that text where it is known (kernel_templates/source.h), with its tokens, so that `db rekey` can
// compare it with today's; other hashes stay as they are, and their rows count as those of another
// kernel. The same file always gives the same rows, the runs' UUIDs included. Private to db/. Use
// the connection from one thread.
#pragma once

#include <SQLiteCpp/SQLiteCpp.h>

#include <optional>
#include <string>

namespace gemm_tune {

// Why a database of version 1 cannot be upgraded: a person's own table, view or index has a name
// that version 2 takes. Said with what to do about it.
std::optional<std::string> why_not_upgradable(SQLite::Database& db);

// Inside the caller's transaction, without foreign keys enforced. The schema is that of version 1.
// Throws SQLite::Exception, also where a row breaks the schema's rules.
void upgrade_from_version_1(SQLite::Database& db);

// The database, of version 1 unless it was upgraded meanwhile, in memory and upgraded: the file
// stays as it is.
SQLite::Database upgraded_copy(SQLite::Database& db);

}  // namespace gemm_tune
