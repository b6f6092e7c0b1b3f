// SPDX-License-Identifier: Apache-2.0
// The state of an open Database, shared by the files that implement its calls.
//
// database.cpp opens it, database_store.cpp writes rows, database_read.cpp reads them. Private to
// db/. Use from one thread.
#pragma once

#include <SQLiteCpp/SQLiteCpp.h>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>

#include "core/error.h"
#include "db/database.h"
#include "db/file/database_file.h"

namespace gemm_tune {

// Runs f and translates its exceptions into DatabaseError.
template <class F>
auto guarded(const std::filesystem::path& path, const F& f) {
  try {
    return f();
  } catch (const SQLite::Exception& error) {
    throw translated(path, error);
  }
}

// Reads the current row by one of db/schema/rows.h's functions.
template <class Read>
auto checked(const std::filesystem::path& path, SQLite::Statement& row, const Read& read) {
  try {
    return read(row);
  } catch (const Error& error) {
    throw damaged(path, std::string("a row cannot be read: ") + error.what());
  }
}

// The statements for storing, compiled once: a run stores thousands of rows.
struct Statements {
  explicit Statements(SQLite::Database& db);

  SQLite::Statement find_device, insert_device, find_problem, insert_problem, find_candidate,
      insert_candidate, insert_measurement, recount;
};

struct Database::Impl {
  Impl(const std::filesystem::path& file, Mode opened_for, LockWait lock_wait, Journaling how)
      : path(file),
        mode(opened_for),
        lock(std::move(lock_wait)),
        journaling(how),
        opened(open_database(path, mode, lock, journaling)) {}

  std::int64_t current_run() const {
    if (!run_id) throw database_error(path, "has no run to store rows for: begin one first");
    return *run_id;
  }

  Statements& statements() {
    if (!statements_) statements_.emplace(db);
    return *statements_;
  }

  std::filesystem::path path;  // absolute, so that SQLite takes no path for a URI or a special name
  Mode mode;
  LockWait lock;  // db refers to it
  Journaling journaling;
  OpenDatabase opened;
  SQLite::Database& db = opened.connection;
  std::optional<std::int64_t> run_id;
  std::optional<FileId> run_file;  // the file into which the run stores

 private:
  std::optional<Statements> statements_;  // declared after db: statements must not outlive it
};

}  // namespace gemm_tune
