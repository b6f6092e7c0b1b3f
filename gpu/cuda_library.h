// SPDX-License-Identifier: Apache-2.0
// CUDA's larger libraries, opened at run time: cuBLAS and cublasLt come with 400 MB that a build,
// and a machine without a GPU, do without.
//
// Opened for good: they hold state per process. Any thread.
#pragma once

#include <string>

namespace gemm_tune {

// "libcublas.so.13": by its name, where the loader looks; else beside the CUDA runtime in use,
// which is where a toolkit and NVIDIA's wheels both keep it. Throws DeviceError.
void* open_cuda_library(const std::string& name);

// Throws DeviceError where the library has no such symbol.
void* find_symbol(void* library, const char* name);

template <class Function>
Function* find_function(void* library, const char* name) {
  return reinterpret_cast<Function*>(find_symbol(library, name));
}

}  // namespace gemm_tune
