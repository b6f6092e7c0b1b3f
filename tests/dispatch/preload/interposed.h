// SPDX-License-Identifier: Apache-2.0
// The drop-in between a program and a cuBLAS, both as shared libraries: a test is linked with the
// drop-in ahead of a fake cuBLAS, which gives the order of names that LD_PRELOAD gives. The drop-in
// opens the fake gemm-tune that lies beside it.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <thread>

#include "tests/dispatch/preload/fakes/fake_cublas.h"
#include "tests/dispatch/preload/fakes/fake_driver.h"
#include "tests/dispatch/preload/fakes/fake_library.h"

namespace gemm_tune {

inline constexpr int kServed = 0, kByCublas = kFakeStatus;
inline constexpr float kAlpha = 2, kBeta = 3;
alignas(16) inline float matrix[4];

// A size that no other test has called for: what is done with a shape is decided once.
inline int new_size() {
  static int last = 16;
  return last += 4;
}

inline int sgemm(FakeHandle& handle, int m) {
  return cublasSgemm_v2(&handle, 0, 0, m, 8, 8, &kAlpha, matrix, m, matrix, 8, &kBeta, matrix, m);
}

// Until the drop-in has looked for other winners so many times from now on, to the end.
inline void await_refreshes(FakeLibrary& library, int times = 2) {
  for (const int last = library.refreshes + times; library.refreshes < last;) {
    std::this_thread::yield();
  }
}

class InterposedTest : public ::testing::Test {
 protected:
  void SetUp() override {
    // Nothing of the tests' environment.
    unsetenv("NVIDIA_TF32_OVERRIDE");
    unsetenv("CUBLAS_EMULATE_SINGLE_PRECISION");
    setenv("GEMM_TUNE_BLAS_REFRESH", "0.0001", 1);
    library_.recipe = FakeLibrary().recipe;
    library_.lookup_status = library_.gemm_status = GT_OK;
    fake_driver()->has_context = true;
  }

  FakeHandle handle_;
  FakeLibrary& library_ = *fake_library();
};

}  // namespace gemm_tune
