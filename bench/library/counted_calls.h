// SPDX-License-Identifier: Apache-2.0
// Allocations and locks of the calling thread, whoever makes them: the program that contains
// counted_calls.cpp puts its own malloc and pthread_mutex_lock in front of the C library's.
//
// Counts malloc, calloc, realloc, the aligned ones (and so operator new), mutexes and
// reader-writer locks of pthread (and so std::mutex, std::shared_mutex). A thread's counts are its
// own. glibc only.
#pragma once

#include <cstdint>

namespace gemm_tune {

struct CountedCalls {
  std::int64_t allocations = 0, locks = 0;
};

// Since the thread began.
CountedCalls counted_calls();

}  // namespace gemm_tune
