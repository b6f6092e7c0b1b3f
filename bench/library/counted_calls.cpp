// SPDX-License-Identifier: Apache-2.0
#include "bench/library/counted_calls.h"

#include <dlfcn.h>
#include <pthread.h>

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdlib>

// glibc's own names of its allocator, for programs that put theirs in front.
extern "C" {
void* __libc_malloc(std::size_t);
void* __libc_calloc(std::size_t, std::size_t);
void* __libc_realloc(void*, std::size_t);
void* __libc_memalign(std::size_t, std::size_t);
}

namespace gemm_tune {
namespace {

thread_local CountedCalls counts;  // constant initialisation: its first use allocates nothing

using Lock = int(pthread_mutex_t*);
using LockShared = int(pthread_rwlock_t*);

// The C library's function of this name. Atomic, since threads may ask at once; no local static,
// whose guard may lock.
template <class Function>
Function* next(std::atomic<Function*>& known, const char* name) {
  Function* function = known.load(std::memory_order_relaxed);
  if (function == nullptr) {
    function = reinterpret_cast<Function*>(::dlsym(RTLD_NEXT, name));
    known.store(function, std::memory_order_relaxed);
  }
  return function;
}

std::atomic<Lock*> mutex_lock, mutex_trylock;
std::atomic<LockShared*> rdlock, tryrdlock, wrlock, trywrlock;

}  // namespace

CountedCalls counted_calls() { return counts; }

}  // namespace gemm_tune

#define GT_IN_FRONT extern "C" __attribute__((visibility("default")))

GT_IN_FRONT void* malloc(std::size_t size) {
  ++gemm_tune::counts.allocations;
  return __libc_malloc(size);
}

GT_IN_FRONT void* calloc(std::size_t count, std::size_t size) {
  ++gemm_tune::counts.allocations;
  return __libc_calloc(count, size);
}

GT_IN_FRONT void* realloc(void* memory, std::size_t size) {
  ++gemm_tune::counts.allocations;
  return __libc_realloc(memory, size);
}

GT_IN_FRONT void* memalign(std::size_t alignment, std::size_t size) {
  ++gemm_tune::counts.allocations;
  return __libc_memalign(alignment, size);
}

GT_IN_FRONT void* aligned_alloc(std::size_t alignment, std::size_t size) {
  return memalign(alignment, size);
}

GT_IN_FRONT int posix_memalign(void** memory, std::size_t alignment, std::size_t size) {
  *memory = memalign(alignment, size);
  return *memory == nullptr ? ENOMEM : 0;
}

GT_IN_FRONT int pthread_mutex_lock(pthread_mutex_t* mutex) {
  ++gemm_tune::counts.locks;
  return gemm_tune::next(gemm_tune::mutex_lock, "pthread_mutex_lock")(mutex);
}

GT_IN_FRONT int pthread_mutex_trylock(pthread_mutex_t* mutex) {
  ++gemm_tune::counts.locks;
  return gemm_tune::next(gemm_tune::mutex_trylock, "pthread_mutex_trylock")(mutex);
}

GT_IN_FRONT int pthread_rwlock_rdlock(pthread_rwlock_t* lock) {
  ++gemm_tune::counts.locks;
  return gemm_tune::next(gemm_tune::rdlock, "pthread_rwlock_rdlock")(lock);
}

GT_IN_FRONT int pthread_rwlock_tryrdlock(pthread_rwlock_t* lock) {
  ++gemm_tune::counts.locks;
  return gemm_tune::next(gemm_tune::tryrdlock, "pthread_rwlock_tryrdlock")(lock);
}

GT_IN_FRONT int pthread_rwlock_wrlock(pthread_rwlock_t* lock) {
  ++gemm_tune::counts.locks;
  return gemm_tune::next(gemm_tune::wrlock, "pthread_rwlock_wrlock")(lock);
}

GT_IN_FRONT int pthread_rwlock_trywrlock(pthread_rwlock_t* lock) {
  ++gemm_tune::counts.locks;
  return gemm_tune::next(gemm_tune::trywrlock, "pthread_rwlock_trywrlock")(lock);
}
