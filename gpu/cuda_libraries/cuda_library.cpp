// SPDX-License-Identifier: Apache-2.0
#include "gpu/cuda_libraries/cuda_library.h"

#include <dlfcn.h>
#include <link.h>

#include <filesystem>

#include "core/error.h"
#include "gpu/cuda_libraries/cuda_folders.h"

namespace gemm_tune {
namespace {

void* open_file(const std::filesystem::path& file) {
  return ::dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
}

void* open_beside_loaded_runtime(const std::string& file) {
  void* const runtime = ::dlopen("libcudart.so.13", RTLD_NOW | RTLD_NOLOAD);
  if (runtime == nullptr) return nullptr;
  void* const opened = open_beside(runtime, file);
  ::dlclose(runtime);
  return opened;
}

// Where wheels are not looked for, pip alone would not help.
std::string remedy(const CudaLibrary& library) {
  return std::string("install CUDA Toolkit 13 or its package ") + library.package +
         ", or run 'pip install \"" + library.wheel + "==13.*\"' in the " +
         (looks_for_cuda_in_environment()
              ? "active Python environment"
              : "Python environment and put its folder nvidia/cu13/lib on LD_LIBRARY_PATH");
}

}  // namespace

void* open_cuda_library(const CudaLibrary& library) {
  if (void* const opened = open_file(library.file)) return opened;
  const std::string reason = ::dlerror();
  if (void* const opened = open_beside_loaded_runtime(library.file)) return opened;
  for (const std::filesystem::path& folder : cuda_folders()) {
    if (void* const opened = open_file(folder / library.file)) return opened;
  }
  throw DeviceError(std::string(library.product) + " cannot be opened (" + reason +
                    "): " + remedy(library));
}

void* open_cublas_library(const char* file) {
  return open_cuda_library({file, "cuBLAS 13", "libcublas-13-0", "nvidia-cublas"});
}

std::string folder_of_library(void* library) {
  const link_map* map = nullptr;
  if (::dlinfo(library, RTLD_DI_LINKMAP, &map) != 0) return "";
  return std::filesystem::path(map->l_name).parent_path().string();
}

void* open_beside(void* library, const std::string& file) {
  return open_file(std::filesystem::path(folder_of_library(library)) / file);
}

void* find_symbol(void* library, const char* name) {
  void* const symbol = ::dlsym(library, name);
  if (symbol == nullptr) throw DeviceError(std::string("CUDA 13's libraries have no ") + name);
  return symbol;
}

}  // namespace gemm_tune
