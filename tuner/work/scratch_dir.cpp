// SPDX-License-Identifier: Apache-2.0
#include "tuner/work/scratch_dir.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <system_error>

#include "core/descriptor_limit.h"
#include "core/error.h"
#include "tuner/work/protocol.h"

namespace gemm_tune {
namespace {

namespace fs = std::filesystem;

constexpr const char* kLockName = "lock";

// As std::filesystem::temp_directory_path() finds it, whose error does not name the folder.
fs::path temporary_folder() {
  for (const char* variable : {"TMPDIR", "TMP", "TEMP", "TEMPDIR"}) {
    const char* const folder = std::getenv(variable);
    if (folder == nullptr || *folder == '\0') continue;
    require_utf8(variable, folder);  // messages quote it
    return folder;
  }
  return "/tmp";
}

// A folder whose owner lives is locked; one without a lock file is just being made.
void remove_abandoned(const fs::path& parent, const std::string& prefix) {
  std::error_code error, ignored;
  fs::directory_iterator entry(parent, error);
  for (; !error && entry != fs::directory_iterator(); entry.increment(error)) {
    const fs::path& path = entry->path();
    if (!path.filename().string().starts_with(prefix + "-")) continue;
    const int lock = open((path / kLockName).c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW);
    if (lock < 0) continue;
    if (flock(lock, LOCK_EX | LOCK_NB) == 0) fs::remove_all(path, ignored);
    close(lock);
  }
}

}  // namespace

ScratchDir::ScratchDir(const std::string& prefix) {
  const fs::path parent = temporary_folder();
  remove_abandoned(parent, prefix);
  std::string name = (parent / (prefix + "-XXXXXX")).string();
  const auto fail = [&](int code) {
    const std::string why =
        "'" + parent.string() + "' cannot hold temporary files (" + std::strerror(code) + "): ";
    if (is_descriptor_limit(code)) throw DeviceError(why + kRaiseDescriptorLimit);
    throw UsageError(why + "set TMPDIR to a folder with room");
  };
  if (mkdtemp(name.data()) == nullptr) fail(errno);
  path_ = name;
  // Locked before it has its name, so that nobody sees it unlocked.
  const fs::path unnamed = path_ / "unlocked";
  lock_ = open(unnamed.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (lock_ < 0) {
    const int code = errno;
    rmdir(path_.c_str());
    fail(code);
  }
  flock(lock_, LOCK_EX | LOCK_NB);
  std::error_code ignored;  // without its lock the folder is merely left behind after a kill
  fs::rename(unnamed, path_ / kLockName, ignored);
}

ScratchDir::~ScratchDir() {
  std::error_code ignored;  // a leftover in the temporary folder harms nobody
  fs::remove_all(path_, ignored);
  if (lock_ >= 0) close(lock_);
}

}  // namespace gemm_tune
