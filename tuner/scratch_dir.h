// A folder of its own under TMPDIR, removed with its owner.
#pragma once

#include <filesystem>
#include <string>

namespace gemm_tune {

class ScratchDir {
 public:
  // Throws Error where no folder can be made.
  explicit ScratchDir(const std::string& prefix);
  ~ScratchDir();
  ScratchDir(const ScratchDir&) = delete;
  ScratchDir& operator=(const ScratchDir&) = delete;

  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace gemm_tune
