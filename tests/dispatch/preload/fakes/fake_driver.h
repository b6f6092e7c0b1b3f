// SPDX-License-Identifier: Apache-2.0
// A CUDA driver for tests, libcuda.so.1: its state is set by hand. Every event that is recorded is
// 0.25 ms later than the one before.
//
// One thread at a time, but for cuCtxGetDevice.
#pragma once

#include <atomic>

namespace gemm_tune {

struct FakeDriver {
  std::atomic<bool> has_context = true;
  int device = 3;  // the calling thread's current one
  unsigned long long context = 1;
  int capture_status = 0;                // of every stream
  bool another_thread_captures = false;  // what is not done in relaxed mode then breaks the capture
  bool capture_is_broken = false;
  bool gpu_is_behind = false;  // no event has been reached
  int record_status = 0;
  int events = 0;  // not destroyed
};

}  // namespace gemm_tune

extern "C" gemm_tune::FakeDriver* fake_driver();  // the one of the process
