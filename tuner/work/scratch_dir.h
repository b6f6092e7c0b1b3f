// SPDX-License-Identifier: Apache-2.0
// A folder of its own under TMPDIR, removed with its owner, or by the next one of the same prefix.
#pragma once

#include <filesystem>
#include <string>

#include "core/own_folder.h"

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

}  // namespace gemm_tune
