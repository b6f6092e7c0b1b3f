// SPDX-License-Identifier: Apache-2.0
// Failures of the CUDA runtime as exceptions: GT_CUDA(call) is the one way its status is checked.
//
// NVRTC and cuBLAS have their own checks beside their only users (nvrtc.cpp, cublas.cpp). A
// candidate's launch failure is data to the tuner, so the status stays readable on the exception:
// catch CudaError to tell it from a missing driver. Any thread.
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

// Throws CudaError with the call's text and the runtime's unless code is cudaSuccess.
void check_cuda(cudaError_t code, const char* call);

}  // namespace gemm_tune

#define GT_CUDA(call) ::gemm_tune::check_cuda((call), #call)
