// SPDX-License-Identifier: Apache-2.0
// cuBLAS opened as programs do that have it as a plugin, beside the drop-in that a program is
// linked with.
#pragma once

#include <cuda_runtime_api.h>

#include <string>

#include "core/error.h"
#include "gpu/cuda_libraries/cuda_library.h"

namespace gemm_tune {

struct Cublas {
  void* library = open_cublas_library("libcublas.so.13");
  void* lt_library = open_cublas_library("libcublasLt.so.13");
  void* handle = nullptr;
  void* lt = nullptr;

  Cublas() {
    check(find_function<int(void**)>(lt_library, "cublasLtCreate")(&lt), "cublasLtCreate");
    check(find_function<int(void**)>(library, "cublasCreate_v2")(&handle), "cublasCreate");
  }
  void set_math_mode(int mode) const {
    check(find_function<int(void*, int)>(library, "cublasSetMathMode")(handle, mode),
          "cublasSetMathMode");
  }
  void set_pointer_mode(int mode) const {
    check(find_function<int(void*, int)>(library, "cublasSetPointerMode_v2")(handle, mode),
          "cublasSetPointerMode");
  }
  void set_stream(cudaStream_t stream) const {
    check(find_function<int(void*, cudaStream_t)>(library, "cublasSetStream_v2")(handle, stream),
          "cublasSetStream");
  }
  static void check(int status, const std::string& call) {
    if (status != 0) throw DeviceError(call + " failed with status " + std::to_string(status));
  }
};

}  // namespace gemm_tune
