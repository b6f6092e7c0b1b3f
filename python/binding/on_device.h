// SPDX-License-Identifier: Apache-2.0
// The current device of the thread, for a while.
#pragma once

#include <cuda_runtime_api.h>

#include "gpu/device.h"

namespace gemm_tune {

// Launches go to the device for as long as this lives.
class OnDevice {
 public:
  explicit OnDevice(int ordinal) {
    static const bool has_one = device_count() <= 1;
    if (has_one) return;
    const int before = current_device();
    if (before == ordinal) return;
    set_device(ordinal);
    before_ = before;
  }
  ~OnDevice() {
    if (before_ >= 0) cudaSetDevice(before_);
  }
  OnDevice(const OnDevice&) = delete;
  OnDevice& operator=(const OnDevice&) = delete;

 private:
  int before_ = -1;
};

}  // namespace gemm_tune
