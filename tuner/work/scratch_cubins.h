// SPDX-License-Identifier: Apache-2.0
// Cubins that wait in files of a temporary folder, which only this process touches: a long run
// compiles thousands. Any thread.
#pragma once

#include <string>
#include <string_view>

#include "runtime/kernel_store.h"
#include "tuner/work/scratch_dir.h"

namespace gemm_tune {

class ScratchCubins {
 public:
  // Throws UsageError where no temporary folder can be made, and DeviceError where the system gives
  // no descriptor.
  explicit ScratchCubins(const std::string& prefix);

  // Throws DeviceError where the folder is full.
  void store(std::string_view key, std::string_view cubin) const;

  // config: that of the key, for the message. Throws DeviceError where somebody has removed the
  // cubin.
  std::string load(std::string_view key, const std::string& config) const;

 private:
  ScratchDir folder_;
  KernelStore files_;
};

}  // namespace gemm_tune
