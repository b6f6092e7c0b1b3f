// SPDX-License-Identifier: Apache-2.0
// Compiled kernels kept in files, so that no process compiles what another has compiled: the tuner
// and the library share them, by the keys of runtime/compile.h.
//
// One file per key in a directory that the caller names. Files are written aside and renamed into
// place: readers see a whole file or none, whatever dies. Where a user's directory grows beyond its
// bound, the files that were not loaded for longest are removed; a file's time of modification says
// when it was loaded, to a day. Files of other names stay. Any thread, any number of processes.
//
// Who can write there supplies GPU code. The directory is made for its owner alone, and is refused
// where it belongs to another user than this process's or root, or where group or others may write
// to it; a file of such an owner or mode, or a symbolic link, counts as absent. Owner and mode are
// those of what is open, so that nothing can be exchanged after the check. The hash over key and
// cubin is no signature: it guards against damage, and a short, damaged or foreign file counts as
// absent, too.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

namespace gemm_tune {

class KernelStore {
 public:
  static constexpr std::uintmax_t kMostBytes = std::uintmax_t{1} << 30;

  // Makes the directory where it does not exist. Throws UsageError naming it where that is
  // impossible, or where others might write there. Throws DeviceError where too many files are
  // open.
  explicit KernelStore(std::filesystem::path directory, std::uintmax_t most_bytes = kMostBytes);
  ~KernelStore();
  KernelStore(const KernelStore&) = delete;
  KernelStore& operator=(const KernelStore&) = delete;

  // key: of kernel_key(), which names all that the cubin depends on.
  std::optional<std::string> load(std::string_view key) const;

  // Replaces what is there. False where the file cannot be written: that costs a compilation later,
  // nothing else.
  bool store(std::string_view key, std::string_view cubin) const;

  // Where the key's file is or would be.
  std::filesystem::path file(std::string_view key) const;

 private:
  // Removes the files that were not loaded for longest where the directory is too large, and what
  // writers that died have left. just_stored stays.
  void trim(const std::string& just_stored) const;

  std::filesystem::path directory_;
  std::uintmax_t most_bytes_;
  int descriptor_ = -1;  // of the directory, as it was checked
};

// Where a user's programs keep compiled kernels unless told otherwise: $XDG_CACHE_HOME/gemm-tune,
// else ~/.cache/gemm-tune; nothing where neither variable says. Reads the environment.
std::optional<std::filesystem::path> default_kernel_cache();

// The same from the values of these environment variables, which may be null.
std::optional<std::filesystem::path> default_kernel_cache(const char* xdg_cache_home,
                                                          const char* home);

// Why GPU code may not come from a file or directory of this owner and mode, with what would be
// right, as the end of a sentence; nothing where it may. user: whose process asks.
std::optional<std::string> why_untrusted(uid_t owner, mode_t mode, uid_t user);

}  // namespace gemm_tune
