// SPDX-License-Identifier: Apache-2.0
// A program that calls cublasSgemm_v2 of the library that it is linked with; or, built with
// GT_OPENS_A_PLUGIN, in the plugin that it is given, opened with RTLD_LOCAL as Python does it.
//
// Prints who did the call. Exits with 5, so that a test can see whose exit code it gets.
#include <dlfcn.h>

#include <cstdio>

extern "C" bool cublas_did_it();

int main(int argc, char** argv) {
  bool (*call)() = nullptr;
#ifdef GT_OPENS_A_PLUGIN
  if (argc != 2) return 2;
  void* const plugin = ::dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
  if (plugin == nullptr) {
    std::fprintf(stderr, "%s\n", ::dlerror());
    return 1;
  }
  call = reinterpret_cast<bool (*)()>(::dlsym(plugin, "cublas_did_it"));
#else
  if (argc != 1 || argv == nullptr) return 2;
  call = &cublas_did_it;
#endif
  std::puts(call() ? "cublas" : "gemm-tune");
  return 5;
}
