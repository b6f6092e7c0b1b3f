// SPDX-License-Identifier: Apache-2.0
#include "db/file/database_error.h"

#include <sqlite3.h>

#include "core/text/printable.h"
#include "core/text/shell_quote.h"
#include "db/file/check.h"

namespace gemm_tune {

namespace fs = std::filesystem;

DatabaseError database_error(const fs::path& path, const std::string& what) {
  return DatabaseError("database '" + path.string() + "' " + what);
}

DatabaseError damaged(const fs::path& path, const std::string& what) {
  return database_error(path, "is damaged (" + printable(what, kLongestFault) +
                                  "): `gemm-tune db check --db " + shell_quote(path.string()) +
                                  "` lists what is wrong, `" + recovery_command(path) +
                                  "` keeps the rows that can be read");
}

DatabaseError moved_away(const fs::path& path) {
  return database_error(path,
                        "was deleted, moved or replaced during the run: this run's rows are only "
                        "in the file that was there before");
}

DatabaseError translated(const fs::path& path, const SQLite::Exception& error) {
  switch (error.getErrorCode()) {
    case SQLITE_FULL:
      return database_error(path, "cannot be written: the disk is full");
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return database_error(path, "is locked by another process: try again when that has ended");
    case SQLITE_READONLY:
      if (error.getExtendedErrorCode() == SQLITE_READONLY_DBMOVED) return moved_away(path);
      return database_error(path, "cannot be written: it is open for reading only");
    case SQLITE_CANTOPEN:
      return database_error(path,
                            "cannot be opened or created: name a file in a writable folder, and "
                            "check that the limit on open files is not reached");
    case SQLITE_NOMEM:
      return database_error(path, "needs more memory than the system gives");
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
    case SQLITE_TOOBIG:
      return damaged(path, error.what());
    case SQLITE_CONSTRAINT:
      return database_error(path, "refuses a row: " + std::string(error.what()));
    case SQLITE_IOERR:
      // SQLite reports these for a limit on file sizes, and for a disk too full for the log's
      // index.
      if (error.getExtendedErrorCode() == SQLITE_IOERR_WRITE ||
          error.getExtendedErrorCode() == SQLITE_IOERR_SHMSIZE) {
        return database_error(path,
                              "cannot be written: the disk is full, a limit on file sizes is "
                              "reached, or the disk fails");
      }
      break;
    default:
      break;
  }
  return database_error(path, "failed: " + std::string(error.what()));
}

}  // namespace gemm_tune
