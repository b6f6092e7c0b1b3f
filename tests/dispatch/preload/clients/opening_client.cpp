// SPDX-License-Identifier: Apache-2.0
// A program that is not linked with cuBLAS calls cublasSgemm_v2 and prints who did it:
//   preload_opening_client local PLUGIN       a plugin, opened with RTLD_LOCAL, as Python does it
//   preload_opening_client deepbind PLUGIN    with RTLD_DEEPBIND
//   preload_opening_client inner-lt PLUGIN    as local; cuBLAS then calls cublasLt, which prints so
//   preload_opening_client reopen PLUGIN      with RTLD_GLOBAL; closes it and opens it again
//   preload_opening_client dlsym CUBLAS       cuBLAS, whose function it finds by dlsym()
//   preload_opening_client namespace CUBLAS   likewise, opened by dlmopen() in a new namespace
// A third word is a library that it opens before. Exits with 5.
#include <dlfcn.h>
#include <sys/mman.h>

#include <cstdio>
#include <string_view>

#include "tests/dispatch/preload/fakes/fake_cublas.h"

namespace {

void* opened(std::string_view how, const char* file) {
  if (how == "namespace") return ::dlmopen(LM_ID_NEWLM, file, RTLD_NOW | RTLD_LOCAL);
  if (how == "reopen") return ::dlopen(file, RTLD_NOW | RTLD_GLOBAL);
  return ::dlopen(file, RTLD_NOW | RTLD_LOCAL | (how == "deepbind" ? RTLD_DEEPBIND : 0));
}

template <class Function>
Function* function_of(void* library, const char* name) {
  return reinterpret_cast<Function*>(::dlsym(library, name));
}

bool cublas_does_it(void* cublas) {
  gemm_tune::FakeHandle handle;
  handle.status = 0;
  const float one = 1;
  alignas(16) float matrix[4] = {};
  function_of<decltype(cublasSgemm_v2)>(cublas, "cublasSgemm_v2")(
      &handle, 0, 0, 64, 64, 64, &one, matrix, 64, matrix, 64, &one, matrix, 64);
  return handle.calls == 1;
}

// The plugin once more, at another address: the pages where it was are in use.
void* reopened(void* library, const char* file) {
  function_of<bool(int)>(library, "cublas_did_it")(64);
  ::dlclose(library);
  for (int page = 0; page < 1000; ++page) {
    ::mmap(nullptr, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  }
  return opened("reopen", file);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3 || argc > 4) return 2;
  if (argc == 4 && opened("local", argv[3]) == nullptr) return 2;
  const std::string_view how = argv[1];
  void* library = opened(how, argv[2]);
  if (library != nullptr && how == "reopen") library = reopened(library, argv[2]);
  if (library == nullptr) {
    std::fprintf(stderr, "%s\n", ::dlerror());
    return 1;
  }
  if (how == "inner-lt") {
    std::puts(function_of<bool()>(library, "cublas_calls_lt")() ? "cublasLt" : "nobody");
  } else {
    const bool finds_it = how == "dlsym" || how == "namespace";
    const bool by_cublas =
        finds_it ? cublas_does_it(library) : function_of<bool(int)>(library, "cublas_did_it")(64);
    std::puts(by_cublas ? "cublas" : "gemm-tune");
  }
  return 5;
}
