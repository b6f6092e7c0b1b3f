// SPDX-License-Identifier: Apache-2.0
#include "gpu/cuda_library.h"

#include <dlfcn.h>

#include <filesystem>

#include "core/error.h"

namespace gemm_tune {

void* open_cuda_library(const std::string& name) {
  if (void* library = ::dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL)) return library;
  const std::string reason = ::dlerror();
  Dl_info runtime{};
  void* const symbol = ::dlsym(RTLD_DEFAULT, "cudaGetDeviceCount");
  if (symbol != nullptr && ::dladdr(symbol, &runtime) != 0 && runtime.dli_fname != nullptr) {
    const auto beside = std::filesystem::path(runtime.dli_fname).parent_path() / name;
    if (void* library = ::dlopen(beside.c_str(), RTLD_NOW | RTLD_LOCAL)) return library;
  }
  throw DeviceError("cuBLAS 13 cannot be opened (" + reason +
                    "): install CUDA 13's cuBLAS or put it on the loader's path");
}

void* find_symbol(void* library, const char* name) {
  void* const symbol = ::dlsym(library, name);
  if (symbol == nullptr) throw DeviceError(std::string("CUDA 13's libraries have no ") + name);
  return symbol;
}

}  // namespace gemm_tune
