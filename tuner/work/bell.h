// SPDX-License-Identifier: Apache-2.0
// A descriptor by which one thread wakes another that waits in poll(). Any thread.
#pragma once

namespace gemm_tune {

class Bell {
 public:
  Bell();  // throws DeviceError where the system has no descriptor
  ~Bell();
  Bell(const Bell&) = delete;
  Bell& operator=(const Bell&) = delete;

  // From now on the descriptor is readable.
  void ring();
  // Until it rings again, the descriptor is not.
  void quiet();
  int fd() const { return fd_; }

 private:
  int fd_;
};

}  // namespace gemm_tune
