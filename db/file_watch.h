// SPDX-License-Identifier: Apache-2.0
// Whether a path still leads to the database file that is open, and what to do where it does not.
//
// SQLite writes on into a file that was deleted, moved or replaced, and into a log of which the
// same is true: nobody would find the rows. A look costs four stat() calls. Private to db/. Use
// from one thread.
#pragma once

#include <SQLiteCpp/SQLiteCpp.h>
#include <sys/types.h>

#include <array>
#include <filesystem>
#include <optional>

namespace gemm_tune {

class FileWatch {
 public:
  // path: of a database that is open, and was written to since, so that its log exists.
  explicit FileWatch(const std::filesystem::path& path);
  ~FileWatch();
  FileWatch(const FileWatch&) = delete;
  FileWatch& operator=(const FileWatch&) = delete;

  enum class State {
    in_place,
    deleted,       // nothing is at the path, and the open file is nowhere
    moved,         // the open file is at now_at(), where a link at the path may lead
    replaced,      // the open file is nowhere, and another one is at the path
    log_deleted,   // the file is in place, its write-ahead log or the log's index is not
    log_replaced,  // the same, and another program has begun a new one
  };
  State look() const;

  // Removes the log and its index where they still lie beside the path: another database there
  // would take the log for its own. What the log holds must be elsewhere.
  void remove_own_log() const;

  std::filesystem::path now_at() const;
  // The path without links.
  const std::filesystem::path& real_path() const { return real_path_; }
  mode_t permissions() const;

 private:
  // What tells a file from all others.
  struct Identity {
    dev_t device;
    ino_t inode;
    friend bool operator==(const Identity&, const Identity&) = default;
  };
  static std::optional<Identity> identity(const std::filesystem::path& path);

  const std::filesystem::path path_;
  int fd_;  // cannot be read from: closing another kind would drop SQLite's locks
  const std::filesystem::path real_path_;
  std::array<std::filesystem::path, 2> side_paths_;  // the log and its index
  std::array<std::optional<Identity>, 2> side_files_;
};

// A copy of the open database in a new file beside the path, whatever has become of the file that
// is open: "tune.db.kept-Xy12Zw". Throws DatabaseError.
std::filesystem::path keep_copy(SQLite::Database& db, const std::filesystem::path& path,
                                mode_t permissions);

}  // namespace gemm_tune
