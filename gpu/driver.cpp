// SPDX-License-Identifier: Apache-2.0
#include "gpu/driver.h"

#include <cuda_runtime_api.h>

namespace gemm_tune {

void* find_driver_function(const char* name, unsigned version) {
  void* found = nullptr;
  cudaDriverEntryPointQueryResult result{};
  const cudaError_t status =
      cudaGetDriverEntryPointByVersion(name, &found, version, cudaEnableDefault, &result);
  return status == cudaSuccess && result == cudaDriverEntryPointSuccess ? found : nullptr;
}

}  // namespace gemm_tune
