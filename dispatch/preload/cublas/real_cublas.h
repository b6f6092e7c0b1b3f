// SPDX-License-Identifier: Apache-2.0
// The functions of the cuBLAS that the program uses, which the drop-in's names hide.
//
// Nothing is loaded: cuBLAS is in the process by the time that one of its functions is called. Any
// thread.
#pragma once

#include <atomic>
#include <optional>

#include "dispatch/preload/cublas/cublas_call.h"

namespace gemm_tune::preload {

using Handle = void*;

// The next definition after the drop-in's own. It is out of sight where the caller was opened with
// RTLD_LOCAL, as extensions of Python are; cuBLAS is then asked by its file, of the version that
// was loaded first. Null where there is none.
void* find_real(const char* name);

template <class Signature>
class RealFunction;

// One function, looked up at its first call.
template <class... Parameters>
class RealFunction<int(Parameters...)> {
 public:
  constexpr explicit RealFunction(const char* name) : name_(name) {}

  int operator()(Parameters... arguments) {
    void* found = function_.load(std::memory_order_acquire);
    if (found == nullptr) {
      found = find_real(name_);
      if (found == nullptr) return kNotInitialized;
      function_.store(found, std::memory_order_release);
    }
    return reinterpret_cast<int (*)(Parameters...)>(found)(arguments...);
  }

 private:
  const char* name_;
  std::atomic<void*> function_ = nullptr;
};

// What the handle's getters say. Nothing where one of them fails. What a version of cuBLAS has no
// getter for has its default.
std::optional<HandleState> state_of(Handle handle);

}  // namespace gemm_tune::preload
