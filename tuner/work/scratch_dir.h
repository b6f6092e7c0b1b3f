// SPDX-License-Identifier: Apache-2.0
// A folder of its own under TMPDIR, removed with its owner.
//
// An owner that was killed cannot remove its folder: the next one of the same prefix does. The
// owner holds a lock on a file in it for as long as it lives; what is not locked is abandoned.
#pragma once

#include <filesystem>
#include <string>

namespace gemm_tune {

class ScratchDir {
 public:
  // Throws UsageError, which names TMPDIR, where no folder can be made, and DeviceError where too
  // many files are open.
  explicit ScratchDir(const std::string& prefix);
  ~ScratchDir();
  ScratchDir(const ScratchDir&) = delete;
  ScratchDir& operator=(const ScratchDir&) = delete;

  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
  int lock_ = -1;
};

}  // namespace gemm_tune
