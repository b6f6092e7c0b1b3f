// SPDX-License-Identifier: Apache-2.0
// Calls that one of cublasLt's algorithms serves. cublasLt is opened for each device when first
// needed.
//
// An algorithm gets its scratch memory from the pool that the kernels use (runtime/cublas_calls.h
// says more). Calls on one device are enqueued one after the other. Any number of threads.
#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "core/gemm_call.h"
#include "gpu/cublas_lt.h"
#include "runtime/once_per_key.h"
#include "runtime/workspace_pool.h"

namespace gemm_tune {

class CublasLtCalls {
  struct OnDevice {
    std::mutex mutex;
    CublasLt lt;  // guarded by mutex
  };

 public:
  // One of a plan's.
  class Algorithm {
   public:
    Algorithm(OnDevice& device, std::shared_ptr<const CublasLt::Plan> plan, std::size_t index,
              std::string name);

    // By which find() gives it again.
    const std::string& name() const { return name_; }

    // Whether it was made for calls of this shape.
    bool takes(const GemmCall& call) const { return plan_->takes(call); }

    // Enqueues a call that it takes; whether cublasLt did not refuse it. Throws CudaError.
    bool gemm(const GemmCall& call, int ordinal, cudaStream_t stream,
              WorkspacePool& workspaces) const;

   private:
    OnDevice& device_;
    std::shared_ptr<const CublasLt::Plan> plan_;
    std::size_t index_;
    std::string name_;
  };

  // Both for the current device, which has this ordinal. call: cublas_takes(). Algorithms must not
  // outlive this object.

  // What cublasLt proposes first for the call; none where it cannot be opened.
  std::vector<std::shared_ptr<const Algorithm>> proposals(const GemmCall& call, int ordinal);

  // The one of these that has this name, null if none has.
  std::shared_ptr<const Algorithm> find(std::string_view name, const GemmCall& call, int ordinal);

 private:
  OncePerKey<int, std::unique_ptr<OnDevice>> devices_;
};

}  // namespace gemm_tune
