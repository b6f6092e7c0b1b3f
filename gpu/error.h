// SPDX-License-Identifier: Apache-2.0
// Failures of the CUDA runtime as exceptions: code checks a status of the runtime by GT_CUDA(call).
//
// NVRTC and cuBLAS have their own checks beside their only users (nvrtc.cpp, cublas.cpp). A
// candidate's launch failure is data to the tuner, so the exception keeps the status: catch
// CudaError to tell a failed launch from a missing driver. Any thread.
#pragma once

#include <cuda_runtime_api.h>

#include "core/error.h"

namespace gemm_tune {

class CudaError : public DeviceError {
 public:
  CudaError(cudaError_t code, const char* call);

  cudaError_t code() const { return code_; }

 private:
  cudaError_t code_;
};

// Throws CudaError with the call's text and the runtime's error text, unless code is cudaSuccess.
void check_cuda(cudaError_t code, const char* call);

}  // namespace gemm_tune

#define GT_CUDA(call) ::gemm_tune::check_cuda((call), #call)
