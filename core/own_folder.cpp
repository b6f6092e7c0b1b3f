// SPDX-License-Identifier: Apache-2.0
#include "core/own_folder.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <system_error>

namespace gemm_tune {
namespace {

namespace fs = std::filesystem;

constexpr const char* kLockName = "lock";

// One without a lock file is just being made, which takes no hour.
bool was_never_finished(const fs::path& folder) {
  std::error_code error;
  const auto made = fs::last_write_time(folder, error);
  return !error && fs::file_time_type::clock::now() - made > std::chrono::hours(1);
}

// A folder whose owner lives is locked.
void remove_abandoned(const fs::path& parent, const std::string& prefix) {
  std::error_code error, ignored;
  fs::directory_iterator entry(parent, error);
  for (; !error && entry != fs::directory_iterator(); entry.increment(error)) {
    const fs::path& path = entry->path();
    if (!path.filename().string().starts_with(prefix + "-")) continue;
    const int lock = open((path / kLockName).c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW);
    if (lock < 0) {
      if (errno == ENOENT && was_never_finished(path)) fs::remove_all(path, ignored);
      continue;
    }
    if (flock(lock, LOCK_EX | LOCK_NB) == 0) fs::remove_all(path, ignored);
    close(lock);
  }
}

}  // namespace

OwnFolder::OwnFolder(const fs::path& parent, const std::string& prefix) {
  remove_abandoned(parent, prefix);
  std::string name = (parent / (prefix + "-XXXXXX")).string();
  if (mkdtemp(name.data()) == nullptr) throw std::system_error(errno, std::generic_category());
  path_ = name;
  // Locked before it has its name, so that nobody sees it unlocked.
  const fs::path unnamed = path_ / "unlocked";
  lock_ = open(unnamed.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (lock_ < 0) {
    const int code = errno;
    rmdir(path_.c_str());
    throw std::system_error(code, std::generic_category());
  }
  flock(lock_, LOCK_EX | LOCK_NB);
  std::error_code ignored;  // without its lock the folder is merely left behind after a kill
  fs::rename(unnamed, path_ / kLockName, ignored);
}

OwnFolder::~OwnFolder() {
  std::error_code ignored;  // the next owner removes what is left
  fs::remove_all(path_, ignored);
  close(lock_);
}

}  // namespace gemm_tune
