// SPDX-License-Identifier: Apache-2.0
#include "core/files/own_folder.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <chrono>
#include <string_view>
#include <system_error>

namespace gemm_tune {
namespace {

namespace fs = std::filesystem;

constexpr const char* kLockName = "lock";
constexpr const char* kUnlockedName = "unlocked";
// In the lock file: a folder of the user's own that has a file of this name stays.
constexpr std::string_view kMark = "gemm-tune removes this folder\n";

// A name as mkdtemp() makes it, for a folder of this user.
bool may_be_ours(const fs::path& folder, const std::string& prefix) {
  constexpr std::size_t kRandom = 6;
  const std::string name = folder.filename().string();
  if (name.size() != prefix.size() + 1 + kRandom || !name.starts_with(prefix + "-")) return false;
  const bool is_random = std::all_of(name.end() - kRandom, name.end(),
                                     [](unsigned char c) { return std::isalnum(c) != 0; });
  struct stat state {};
  return is_random && lstat(folder.c_str(), &state) == 0 && S_ISDIR(state.st_mode) &&
         state.st_uid == geteuid();
}

// One without a lock file is just being made, which takes no hour.
bool was_never_finished(const fs::path& folder) {
  std::error_code error;
  const auto made = fs::last_write_time(folder, error);
  return !error && fs::file_time_type::clock::now() - made > std::chrono::hours(1);
}

bool has_mark(int lock) {
  std::array<char, kMark.size() + 1> text{};
  const ssize_t size = pread(lock, text.data(), text.size(), 0);
  return size == ssize_t{kMark.size()} && std::string_view(text.data(), kMark.size()) == kMark;
}

// A folder whose owner lives is locked. Nothing is removed that might be another's.
void remove_abandoned(const fs::path& parent, const std::string& prefix) {
  std::error_code error, ignored;
  fs::directory_iterator entry(parent, error);
  for (; !error && entry != fs::directory_iterator(); entry.increment(error)) {
    const fs::path& path = entry->path();
    if (!may_be_ours(path, prefix)) continue;
    const int lock = open((path / kLockName).c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (lock < 0) {
      if (errno != ENOENT || !was_never_finished(path)) continue;
      fs::remove(path / kUnlockedName, ignored);
      rmdir(path.c_str());  // fails where it holds anything else
      continue;
    }
    if (has_mark(lock) && flock(lock, LOCK_EX | LOCK_NB) == 0) fs::remove_all(path, ignored);
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
  const fs::path unnamed = path_ / kUnlockedName;
  lock_ = open(unnamed.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (lock_ < 0) {
    const int code = errno;
    rmdir(path_.c_str());
    throw std::system_error(code, std::generic_category());
  }
  flock(lock_, LOCK_EX | LOCK_NB);
  // Without its lock and mark the folder is merely left behind after a kill.
  std::error_code ignored;
  [[maybe_unused]] const ssize_t written = write(lock_, kMark.data(), kMark.size());
  fs::rename(unnamed, path_ / kLockName, ignored);
}

OwnFolder::~OwnFolder() {
  std::error_code ignored;  // the next owner removes what is left
  fs::remove_all(path_, ignored);
  close(lock_);
}

}  // namespace gemm_tune
