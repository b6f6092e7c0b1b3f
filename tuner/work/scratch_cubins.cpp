// SPDX-License-Identifier: Apache-2.0
#include "tuner/work/scratch_cubins.h"

#include <optional>
#include <utility>

#include "core/error.h"

namespace gemm_tune {

ScratchCubins::ScratchCubins(const std::string& prefix)
    : folder_(prefix), files_(folder_.path(), KernelStore::Directory::scratch) {}

void ScratchCubins::store(std::string_view key, std::string_view cubin) const {
  if (files_.store(key, cubin)) return;
  throw DeviceError("compiled kernels cannot be written to '" + folder_.path().string() +
                    "': make room or set TMPDIR to a folder with some");
}

std::string ScratchCubins::load(std::string_view key, const std::string& config) const {
  if (std::optional<std::string> cubin = files_.load(key)) return *std::move(cubin);
  throw DeviceError("the compiled kernel of " + config + " is gone from '" +
                    folder_.path().string() + "'");
}

}  // namespace gemm_tune
