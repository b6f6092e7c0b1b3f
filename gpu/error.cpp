// SPDX-License-Identifier: Apache-2.0
#include "gpu/error.h"

#include <string>

namespace gemm_tune {

CudaError::CudaError(cudaError_t code, const char* call)
    : DeviceError(std::string(call) + " failed with " + cudaGetErrorName(code) + ": " +
                  cudaGetErrorString(code)),
      code_(code) {}

void check_cuda(cudaError_t code, const char* call) {
  if (code == cudaSuccess) return;
  cudaGetLastError();  // clears the error, or a later check would report it again
  throw CudaError(code, call);
}

}  // namespace gemm_tune
