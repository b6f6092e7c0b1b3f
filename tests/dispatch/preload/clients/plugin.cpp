// SPDX-License-Identifier: Apache-2.0
// A client of cuBLAS: one call of cublasSgemm_v2 for [m,64] = [m,64] [64,64]. Linked into a
// program, or as a plugin.
#include <string_view>

#include "tests/dispatch/preload/fakes/fake_cublas.h"

namespace {

void multiply(gemm_tune::FakeHandle& handle, int m) {
  const float one = 1;
  alignas(16) float matrix[4] = {};
  cublasSgemm_v2(&handle, 0, 0, m, 64, 64, &one, matrix, m, matrix, 64, &one, matrix, m);
}

}  // namespace

// Whether cuBLAS itself did the call.
extern "C" __attribute__((visibility("default"))) bool cublas_did_it(int m) {
  gemm_tune::FakeHandle handle;
  handle.status = 0;
  multiply(handle, m);
  return handle.calls == 1;
}

// Whether a call that is cuBLAS's reaches cublasLt, which cuBLAS then calls.
extern "C" __attribute__((visibility("default"))) bool cublas_calls_lt() {
  gemm_tune::FakeHandle handle;
  handle.status = 0;
  handle.pointer_mode = 1;
  handle.calls_lt = true;
  multiply(handle, 64);
  return handle.calls == 2 && std::string_view(handle.function) == "cublasLtMatmul";
}
