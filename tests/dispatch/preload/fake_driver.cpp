// SPDX-License-Identifier: Apache-2.0
// A CUDA driver for tests, libcuda.so.1: the calling thread's current device is number 3, unless
// the test takes the context away.
#include <atomic>

extern "C" {
std::atomic<bool> fake_has_context = true;

int cuCtxGetDevice(int* device) {
  constexpr int kInvalidContext = 201;
  if (!fake_has_context) return kInvalidContext;
  *device = 3;
  return 0;
}
}
