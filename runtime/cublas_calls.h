// SPDX-License-Identifier: Apache-2.0
// Calls that cuBLAS serves: a handle for each device, opened when first needed.
//
// cuBLAS gets its scratch memory from the pool that the kernels use, so that calls of one stream
// share it, those of different streams do not, and a captured call has its own. Calls on one device
// are enqueued one after the other. Any number of threads.
#pragma once

#include <memory>
#include <mutex>

#include "core/gemm_call.h"
#include "gpu/cublas.h"
#include "runtime/once_per_key.h"
#include "runtime/workspace_pool.h"

namespace gemm_tune {

// Whether cuBLAS has a function for a call of the problem: something to multiply, and matrices at
// multiples of 4 bytes.
bool cublas_takes(const Problem& problem);

// Whether it has one for the call: also C in D, no epilogue, leading dimensions within 32 bits. The
// call's problem has the alignment of its matrices (problem_of()).
bool cublas_takes(const GemmCall& call);

class CublasCalls {
 public:
  class OnDevice {
   public:
    // Enqueues the call, which cublas_takes(). Throws DeviceError.
    void gemm(const GemmCall& call, int ordinal, cudaStream_t stream, WorkspacePool& workspaces);

   private:
    std::mutex mutex_;
    Cublas cublas_;  // guarded by mutex_
  };

  // Of the current device, which has this ordinal. Throws DeviceError where cuBLAS cannot be
  // opened.
  OnDevice& on(int ordinal) {
    return *devices_.get(ordinal, [] { return std::make_unique<OnDevice>(); });
  }

 private:
  OncePerKey<int, std::unique_ptr<OnDevice>> devices_;
};

}  // namespace gemm_tune
