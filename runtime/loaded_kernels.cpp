// SPDX-License-Identifier: Apache-2.0
#include "runtime/loaded_kernels.h"

namespace gemm_tune {

const LoadedKernel& LoadedKernels::at(const std::string& entry) const {
  const std::lock_guard lock(mutex_);
  const auto known = kernels_.find(entry);
  if (known != kernels_.end()) return known->second;
  return kernels_.emplace(entry, LoadedKernel(library_, entry)).first->second;
}

}  // namespace gemm_tune
