// SPDX-License-Identifier: Apache-2.0
// Functions of the CUDA driver, found through the runtime, so that nothing links libcuda. Any
// thread.
#pragma once

namespace gemm_tune {

// version: of CUDA, as in 12050; of several forms of a function it names the newest up to this one.
// Null where the driver does not tell.
void* find_driver_function(const char* name, unsigned version);

template <class Function>
Function* driver_function(const char* name, unsigned version) {
  return reinterpret_cast<Function*>(find_driver_function(name, version));
}

}  // namespace gemm_tune
