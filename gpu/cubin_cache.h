// Compiled kernels kept in files, so that a second process need not compile them again.
//
// One file per key in a directory that the caller names. Files are written aside and renamed into
// place: readers see a whole file or none, whatever dies. A short, damaged or foreign file counts
// as absent. Nothing is ever removed. Any thread, any number of processes.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

namespace gemm_tune {

class CubinCache {
 public:
  // Makes the directory where it does not exist. Throws Error naming it where that is impossible.
  explicit CubinCache(std::filesystem::path directory);

  // key: all that the cubin depends on (kernel hash, config, architecture, NVRTC version).
  std::optional<std::string> load(std::string_view key) const;

  // False where the file cannot be written: that costs a compilation later, nothing else.
  bool store(std::string_view key, std::string_view cubin) const;

  // Where the key's file is or would be.
  std::filesystem::path file(std::string_view key) const;

 private:
  std::filesystem::path directory_;
};

}  // namespace gemm_tune
