// SPDX-License-Identifier: Apache-2.0
// A folder of this object's own, removed with it: for files that are only of use when they are
// whole.
//
// An owner that was killed cannot remove its folder: the next one with the same parent and prefix
// does. The owner holds a lock on a file in it for as long as it lives; a folder of this user whose
// file bears this program's mark and is not locked is abandoned. A file that is made here gets the
// rights of any new file, by the umask, and may be renamed out of it. Any thread; one object is for
// one thread.
#pragma once

#include <filesystem>
#include <string>

namespace gemm_tune {

class OwnFolder {
 public:
  // parent/prefix-XXXXXX. Throws std::system_error.
  OwnFolder(const std::filesystem::path& parent, const std::string& prefix);
  ~OwnFolder();
  OwnFolder(const OwnFolder&) = delete;
  OwnFolder& operator=(const OwnFolder&) = delete;

  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
  int lock_ = -1;
};

// For what is to take the place of a file in this folder: on the same file system, and hidden.
inline OwnFolder folder_aside(const std::filesystem::path& folder) {
  return OwnFolder(folder, ".gemm-tune");
}

}  // namespace gemm_tune
