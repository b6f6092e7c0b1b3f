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

  // All that is granted, as one array, aligned to 1024 bytes: address 0 is its begin.
  char* take_all();
  bool is_taken() const { return !arrays_.empty(); }
  int granted_bytes() const { return granted_bytes_; }
  const char* begin() const;
  // Of what lies in that array; throws ExecutionError for anything else.
  unsigned address_of(const void* p) const;
  char* at(unsigned address, std::size_t bytes) const;

 private:
  struct Array {
    float* data;
    int floats;
  };

  void add(int n);
  void begin_array(char* array, int n);

  const int granted_bytes_;
  const std::size_t bytes_;
  char* const memory_;
  std::vector<Array> arrays_;
  int taken_bytes_ = 0;
};

}  // namespace gemm_tune::emulator
