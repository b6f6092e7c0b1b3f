// SPDX-License-Identifier: Apache-2.0
#include "db/file_watch.h"

#include <SQLiteCpp/Backup.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <string>
#include <system_error>

#include "db/database_file.h"

namespace gemm_tune {

namespace fs = std::filesystem;

namespace {

int descriptor_of(const fs::path& path) {
  const int fd = open(path.c_str(), O_PATH | O_CLOEXEC);
  if (fd >= 0) return fd;
  if (errno == ENOENT) throw database_error(path, "was deleted as soon as it was opened");
  throw database_error(path, "cannot be watched: " + std::generic_category().message(errno));
}

}  // namespace

FileWatch::FileWatch(const fs::path& path)
    : path_(path), fd_(descriptor_of(path)), real_path_(now_at()) {
  side_paths_ = {real_path_.string() + "-wal", real_path_.string() + "-shm"};
  for (std::size_t i = 0; i < side_paths_.size(); ++i) side_files_[i] = identity(side_paths_[i]);
}

FileWatch::~FileWatch() { close(fd_); }

std::optional<FileWatch::Identity> FileWatch::identity(const fs::path& path) {
  struct stat info {};
  if (stat(path.c_str(), &info) != 0) return std::nullopt;
  return Identity{info.st_dev, info.st_ino};
}

FileWatch::State FileWatch::look() const {
  struct stat open_file {};
  fstat(fd_, &open_file);
  const Identity ours{open_file.st_dev, open_file.st_ino};
  const std::optional<Identity> there = identity(path_);
  // A link at the path may lead to the moved file, whose log would lie there too.
  if (there != ours || now_at() != real_path_) {
    const bool has_name = identity(now_at()) == ours;
    if (has_name) return State::moved;
    return there ? State::replaced : State::deleted;
  }
  for (std::size_t i = 0; i < side_paths_.size(); ++i) {
    if (!side_files_[i]) continue;  // there is no log: a rollback journal comes and goes
    const std::optional<Identity> side = identity(side_paths_[i]);
    if (side != side_files_[i]) return side ? State::log_replaced : State::log_deleted;
  }
  return State::in_place;
}

void FileWatch::remove_own_log() const {
  for (std::size_t i = 0; i < side_paths_.size(); ++i) {
    std::error_code ignored;
    if (side_files_[i] && identity(side_paths_[i]) == side_files_[i]) {
      fs::remove(side_paths_[i], ignored);
    }
  }
}

fs::path FileWatch::now_at() const {
  std::error_code ignored;
  return fs::read_symlink("/proc/self/fd/" + std::to_string(fd_), ignored);
}

mode_t FileWatch::permissions() const {
  struct stat info {};
  fstat(fd_, &info);
  return info.st_mode & 0777;
}

fs::path keep_copy(SQLite::Database& db, const fs::path& path, mode_t permissions) {
  std::string name = path.string() + ".kept-XXXXXX";
  const int fd = mkstemp(name.data());
  if (fd < 0) {
    throw database_error(path, "is gone, and no copy of it can be written beside it: " +
                                   std::generic_category().message(errno));
  }
  fchmod(fd, permissions);
  close(fd);
  try {
    SQLite::Database copy(name, SQLite::OPEN_READWRITE);
    SQLite::Backup(copy, db).executeStep();
  } catch (const SQLite::Exception&) {
    unlink(name.c_str());
    throw;
  }
  return name;
}

}  // namespace gemm_tune
