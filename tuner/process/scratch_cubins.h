// SPDX-License-Identifier: Apache-2.0
// Cubins that wait in a temporary file, one behind the other: a long run compiles thousands. The
// file has no name, so that nothing is left of it, however the process ends. Any thread.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <filesystem>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <string_view>

namespace gemm_tune {

class ScratchCubins {
 public:
  // Throws UsageError where no temporary file can be made, and DeviceError where the system gives
  // no descriptor.
  ScratchCubins();
  ~ScratchCubins();
  ScratchCubins(const ScratchCubins&) = delete;
  ScratchCubins& operator=(const ScratchCubins&) = delete;

  // From now on load() gives this cubin. Throws DeviceError where the folder is full.
  void store(std::string_view key, std::string_view cubin);

  // Throws std::out_of_range where none was stored, and DeviceError where the system cannot read.
  std::string load(std::string_view key) const;

 private:
  struct Place {
    off_t begin;
    std::size_t bytes;
  };

  const std::filesystem::path folder_;  // for messages
  const int file_;
  mutable std::mutex mutex_;  // of what follows
  std::map<std::string, Place, std::less<>> places_;
  off_t end_ = 0;
};

}  // namespace gemm_tune
