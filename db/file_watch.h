// SPDX-License-Identifier: Apache-2.0
// Notices if a path no longer leads to the open database file.
//
// SQLite keeps writing into a file or a log that was deleted, moved or replaced, and nobody would
// find the rows. A look costs four stat() calls. Private to db/. Use from one thread.
#pragma once

#include <SQLiteCpp/SQLiteCpp.h>
#include <sys/types.h>

#include <array>
#include <filesystem>
#include <optional>

namespace gemm_tune {

class FileWatch {
 public:
  // path: of an open database that was already written to, so that its log exists.
  explicit FileWatch(const std::filesystem::path& path);
  ~FileWatch();
  FileWatch(const FileWatch&) = delete;
  FileWatch& operator=(const FileWatch&) = delete;

  enum class State {
    in_place,
    deleted,       // nothing is at the path, and the open file has no name
    moved,         // the open file is at now_at(), to which a link at the path may lead
    replaced,      // another file is at the path, and the open file has no name
    log_deleted,   // the file is in place, but its write-ahead log or the log's index is gone
    log_replaced,  // the same, and another program has begun a new log
  };
  State look() const;

  // Removes the log and its index if they still lie beside the path: another database there would
  // take the log for its own. Precondition: the log's rows are stored elsewhere.
  void remove_own_log() const;

  std::filesystem::path now_at() const;
  // The path without links.
  const std::filesystem::path& real_path() const { return real_path_; }
  mode_t permissions() const;

 private:
  // Identifies a file.
  struct Identity {
    dev_t device;
    ino_t inode;
    friend bool operator==(const Identity&, const Identity&) = default;
  };
  static std::optional<Identity> identity(const std::filesystem::path& path);

  const std::filesystem::path path_;
  int fd_;  // O_PATH: closing a descriptor of another kind would drop SQLite's locks
  const std::filesystem::path real_path_;
  std::array<std::filesystem::path, 2> side_paths_;  // the log and its index
  std::array<std::optional<Identity>, 2> side_files_;
};

// Copies the open database to a new file beside the path, as "tune.db.kept-Xy12Zw", whatever has
// happened to the open file. Throws DatabaseError.
std::filesystem::path keep_copy(SQLite::Database& db, const std::filesystem::path& path,
                                mode_t permissions);

}  // namespace gemm_tune
