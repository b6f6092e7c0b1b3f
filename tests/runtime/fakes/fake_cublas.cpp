// SPDX-License-Identifier: Apache-2.0
// A cuBLAS 13.1.0 without a GPU, which notes the calls.
#include <cstddef>

#include "core/problem/cublas_functions.h"
#include "tests/runtime/fakes/fake_libraries.h"

namespace {

void*& workspace() {
  static void* memory = nullptr;
  return memory;
}

int note_call() {
  gemm_tune::choices_run().push_back(workspace());
  return 0;
}

}  // namespace

namespace gemm_tune {
std::vector<void*>& choices_run() {
  static std::vector<void*> all;
  return all;
}
}  // namespace gemm_tune

extern "C" {

int cublasCreate_v2(void** handle) {
  *handle = &workspace();
  return 0;
}
int cublasDestroy_v2(void*) { return 0; }
int cublasGetProperty(int part, int* value) {
  constexpr int kVersion[] = {13, 1, 0};
  *value = kVersion[part];
  return 0;
}
const char* cublasGetStatusName(int) { return "a status"; }
int cublasSetStream_v2(void*, void*) {
  workspace() = nullptr;
  return 0;
}
int cublasSetWorkspace_v2(void*, void* memory, std::size_t) {
  workspace() = memory;
  return 0;
}
int cublasSetMathMode(void*, int) { return 0; }
// Declared without parameters, which callers in C's convention may pass all the same.
#define GT_ROW(name, suffix, Scalar, type, batch, computing) \
  int name##suffix() { return note_call(); }
GT_CUBLAS_FUNCTIONS(GT_ROW)
#undef GT_ROW
}
