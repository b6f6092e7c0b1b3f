// SPDX-License-Identifier: Apache-2.0
// The kernels of a config's cubin, each loaded when a launch plan names it first.
//
// They belong to the device that was current when the object was made. Any number of threads.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "gpu/launch/kernel.h"

namespace gemm_tune {

class LoadedKernels {
 public:
  // Throws CudaError if the cubin does not fit the device.
  explicit LoadedKernels(const std::string& cubin)
      : library_(std::make_shared<LoadedLibrary>(cubin)) {}

  // Lives as long as this object. Throws CudaError if the cubin has no such kernel.
  const LoadedKernel& at(const std::string& entry) const;

 private:
  std::shared_ptr<LoadedLibrary> library_;
  mutable std::mutex mutex_;
  mutable std::map<std::string, LoadedKernel> kernels_;  // guarded by mutex_
};

}  // namespace gemm_tune
