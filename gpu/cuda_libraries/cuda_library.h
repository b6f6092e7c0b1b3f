// SPDX-License-Identifier: Apache-2.0
// NVRTC and cuBLAS, opened when first needed: 100 and 400 MB, which a look-up, a build and a
// machine without a GPU do without.
//
// The libraries stay open, because they hold state per process. Any thread.
#pragma once

#include <string>

namespace gemm_tune {

// How a library is named to the loader and to a user who lacks it.
struct CudaLibrary {
  const char* file;     // "libnvrtc.so.13"
  const char* product;  // "NVRTC 13"
  const char* package;  // "cuda-nvrtc-13-0", of NVIDIA's repositories for Debian and Ubuntu
  const char* wheel;    // "nvidia-cuda-nvrtc", of PyPI
};

// Opens the file that the process has loaded already or that the dynamic loader finds; else the
// file beside the libcudart.so.13 that the process has loaded, as NVIDIA's wheels have it, or in
// one of cuda_folders(). Throws DeviceError that says what to install.
void* open_cuda_library(const CudaLibrary& library);

// The same for a library of cuBLAS.
void* open_cublas_library(const char* file);

// Of a library that is open; empty where that is unknown.
std::string folder_of_library(void* library);

// Opens the file of this name in the folder of a library that is open; nullptr where that is
// impossible.
void* open_beside(void* library, const std::string& file);

// Throws DeviceError if the library has no such symbol.
void* find_symbol(void* library, const char* name);

template <class Function>
Function* find_function(void* library, const char* name) {
  return reinterpret_cast<Function*>(find_symbol(library, name));
}

// "13.1.0", of a library of cuBLAS. get_property(part, &number) asks it for a part of its version
// and throws where that fails.
template <class GetProperty>
std::string cublas_version(const GetProperty& get_property) {
  constexpr int kMajor = 0, kMinor = 1, kPatch = 2;
  std::string text;
  for (const int part : {kMajor, kMinor, kPatch}) {
    int number = 0;
    get_property(part, &number);
    text += (text.empty() ? "" : ".") + std::to_string(number);
  }
  return text;
}

}  // namespace gemm_tune
