// SPDX-License-Identifier: Apache-2.0
// preload_client [M...]            calls cublasSgemm_v2 of the library that the program is linked
// with preload_opening_client PLUGIN    the same in a plugin, opened with RTLD_LOCAL as Python does
// it
//
// Prints who did each call. Exits with 5, so that a test can see whose exit code it gets.
#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>

#ifdef GT_OPENS_A_PLUGIN
int main(int argc, char** argv) {
  if (argc != 2) return 2;
  void* const plugin = ::dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
  if (plugin == nullptr) {
    std::fprintf(stderr, "%s\n", ::dlerror());
    return 1;
  }
  const auto call = reinterpret_cast<bool (*)(int)>(::dlsym(plugin, "cublas_did_it"));
  std::puts(call(64) ? "cublas" : "gemm-tune");
  return 5;
}
#else
extern "C" bool cublas_did_it(int m);

int main(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) {
    std::puts(cublas_did_it(std::atoi(argv[i])) ? "cublas" : "gemm-tune");
  }
  return 5;
}
#endif
