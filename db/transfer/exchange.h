// SPDX-License-Identifier: Apache-2.0
// The rows of a database as text, and back.
//
// JSON holds all: the tables of db/schema/schema.sql but `families` as lists of objects, a column a
// field, NULLs left out. In place of an id that refers to a row, the reader also takes the text
// that names the row: a problem's text, "config@revision" of a candidate, the UUID of a run. CSV
// (RFC 4180) holds a line for each row of measurements, with its device, problem, candidate and run
// in columns; an empty field is NULL. It lacks baselines, rows of problems that this program does
// not know, and runs without rows. The same rows give the same text. Any thread.
#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>

#include "db/lock_wait.h"
#include "db/record.h"
#include "db/transfer/merge.h"

namespace gemm_tune {

inline constexpr std::size_t kMostImportBytes = 1'000'000'000;

// arch: only its rows; nullopt: all. Throws DatabaseError if the database is damaged or cannot be
// read, NothingFound if it has no row of the architecture.
std::string export_as_json(const std::filesystem::path& database,
                           const std::optional<std::string>& arch, const KernelRevisions& revisions,
                           const LockWait& lock = {});
std::string export_as_csv(const std::filesystem::path& database,
                          const std::optional<std::string>& arch, const KernelRevisions& revisions,
                          const LockWait& lock = {});

// Merges such a text into a database, as db/transfer/merge.h does. name: of the text, for messages.
// Throws UsageError naming the row and the field that is malformed or that no run can have stored,
// and DatabaseError if the database cannot be read or written; it is then as it was.
MergeReport import_text(const std::string& text, const std::string& name,
                        const std::filesystem::path& database, const KernelRevisions& revisions,
                        const LockWait& lock = {});

}  // namespace gemm_tune
