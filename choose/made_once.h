// SPDX-License-Identifier: Apache-2.0
// What is made when it is first asked for, and stays where it is.
//
// Any thread: of threads that ask at once, each makes one and all get the same.
#pragma once

#include <atomic>
#include <memory>

namespace gemm_tune {

template <class T>
class MadeOnce {
 public:
  MadeOnce() = default;
  MadeOnce(const MadeOnce&) = delete;
  MadeOnce& operator=(const MadeOnce&) = delete;
  ~MadeOnce() { delete made_.load(std::memory_order_relaxed); }

  template <class Make>
  const T& get(const Make& make) const {
    if (const T* const known = made_.load(std::memory_order_acquire)) return *known;
    auto own = std::make_unique<const T>(make());
    const T* first = nullptr;
    if (!made_.compare_exchange_strong(first, own.get(), std::memory_order_acq_rel)) return *first;
    return *own.release();
  }

 private:
  mutable std::atomic<const T*> made_ = nullptr;
};

}  // namespace gemm_tune
