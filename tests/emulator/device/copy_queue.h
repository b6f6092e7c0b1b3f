// SPDX-License-Identifier: Apache-2.0
// The asynchronous copies of one emulated thread, each at the last moment that its waits allow.
//
// Global memory is read when a copy is issued (a kernel's A and B do not change); shared memory is
// a signalling NaN from then on and gets its values only when the copy's group is waited for, so
// that a read ahead of that shows, and so does a copy over what others still read. Use from one
// thread.
#pragma once

#include <cstddef>
#include <deque>
#include <vector>

namespace gemm_tune::emulator {

class CopyQueue {
 public:
  // Throws ExecutionError, without the name of the thread, where an address is not aligned to
  // so many bytes: 4, 8 or 16. The first `inside` of them are copied, the others become zero.
  void issue(void* smem, const void* global, int bytes, int inside);

  void commit();

  // Ends all groups but the last `groups_left`. Throws ExecutionError where a destination was
  // written meanwhile.
  void wait(int groups_left);

  // The thread ends: throws ExecutionError where a copy was not committed or not waited for.
  void end();

 private:
  struct Copy {
    char* smem;
    int bytes;
    char values[16];
  };

  std::vector<Copy> open_;
  std::deque<std::vector<Copy>> groups_;
};

}  // namespace gemm_tune::emulator
