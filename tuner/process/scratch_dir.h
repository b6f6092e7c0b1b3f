// SPDX-License-Identifier: Apache-2.0
// Temporary files under TMPDIR: a folder of its own, removed with its owner or by the next one of
// the same prefix; and a file without a name, which the system removes with its last process.
#pragma once

#include <filesystem>
#include <string>

#include "core/files/own_folder.h"

namespace gemm_tune {

class ScratchDir {
 public:
  // Throws UsageError, which names TMPDIR, where no folder can be made, and DeviceError where too
  // many files are open.
  explicit ScratchDir(const std::string& prefix);

  const std::filesystem::path& path() const { return folder_.path(); }

 private:
  OwnFolder folder_;
};

// Where temporary files lie: TMPDIR, or what else the system names. Throws UsageError where a
// variable is not UTF-8.
std::filesystem::path temporary_folder();

// The descriptor of a new file in the folder, for reading and writing, that has no name and that a
// child does not inherit. Throws as ScratchDir() does.
int open_nameless_file(const std::filesystem::path& folder);

}  // namespace gemm_tune
