// SPDX-License-Identifier: Apache-2.0
// CUDA's larger libraries, opened at run time. cuBLAS and cublasLt take 400 MB, which neither a
// build nor a machine without a GPU needs.
//
// The libraries stay open, because they hold state per process. Any thread.
#pragma once

#include <string>

namespace gemm_tune {

// name: as in "libcublas.so.13". Opens the file that the dynamic loader finds, else the file beside
// the CUDA runtime in use: a toolkit and NVIDIA's wheels both keep it there. Throws DeviceError.
void* open_cuda_library(const std::string& name);

// Throws DeviceError if the library has no such symbol.
void* find_symbol(void* library, const char* name);

template <class Function>
Function* find_function(void* library, const char* name) {
  return reinterpret_cast<Function*>(find_symbol(library, name));
}

}  // namespace gemm_tune
