// SPDX-License-Identifier: Apache-2.0
// The shared memory of a resident CTA: everything poisoned but the arrays taken.
//
// Arrays hold signalling NaNs at first. Throws ExecutionError without the name of the thread. Use
// from one thread.
#pragma once

#include <cstddef>
#include <vector>

namespace gemm_tune::emulator {

class SharedPool {
 public:
  explicit SharedPool(int granted_bytes);
  ~SharedPool();
  SharedPool(const SharedPool&) = delete;
  SharedPool& operator=(const SharedPool&) = delete;

  // Takes all arrays back.
  void end_cta();

  // Where this pool has what the other one has at `own`.
  const float* same_place(const SharedPool& other, const float* own) const;

  // The index-th array, of n floats.
  float* take(int index, int n);

 private:
  struct Array {
    float* data;
    int floats;
  };

  void add(int n);

  const int granted_bytes_;
  const std::size_t bytes_;
  char* const memory_;
  std::vector<Array> arrays_;
  int taken_bytes_ = 0;
};

}  // namespace gemm_tune::emulator
