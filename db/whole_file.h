// SPDX-License-Identifier: Apache-2.0
// Changes a database, or makes a new one, as a whole or not at all.
//
// Private to db/. Stateless; any thread.
#pragma once

#include <SQLiteCpp/SQLiteCpp.h>

#include <filesystem>
#include <functional>

#include "db/lock_wait.h"

namespace gemm_tune {

// Calls `change` in one transaction of the database at the path, which it creates if there is none:
// a new file is written under another name in the same folder, and renamed when it is whole. path:
// absolute. Throws DatabaseError, or what `change` throws; the path is then as it was.
void change_or_create(const std::filesystem::path& path, const LockWait& lock,
                      const std::function<void(SQLite::Database&)>& change);

// Throws DatabaseError if the absolute path is taken or a file cannot be created there.
void require_new(const std::filesystem::path& path);

// The same for a file that does not exist yet; throws DatabaseError if it does.
void create_whole(const std::filesystem::path& path, const LockWait& lock,
                  const std::function<void(SQLite::Database&)>& change);

}  // namespace gemm_tune
