// SPDX-License-Identifier: Apache-2.0
// A client of cuBLAS: one call of cublasSgemm_v2 for [m,64] = [m,64] [64,64]. Linked into a
// program, or as a plugin.
#include "tests/dispatch/preload/fake_cublas.h"

// Whether cuBLAS itself did the call.
extern "C" __attribute__((visibility("default"))) bool cublas_did_it(int m) {
  gemm_tune::FakeHandle handle;
  const float one = 1;
  alignas(16) float matrix[4] = {};
  cublasSgemm_v2(&handle, 0, 0, m, 64, 64, &one, matrix, m, matrix, 64, &one, matrix, m);
  return handle.calls == 1;
}
