// SPDX-License-Identifier: Apache-2.0
// Calls that one of cublasLt's algorithms serves. cublasLt is opened for each device when first
// needed.
//
// An algorithm gets its scratch memory from the pool that the kernels use (runtime/cublas_calls.h
// says more). Calls by one algorithm are enqueued one after the other. Any number of threads.
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
 public:
  // One of a plan's.
  class Algorithm {
   public:
    Algorithm(std::shared_ptr<const CublasLt::Plan> plan, std::size_t index, std::string name);

    // By which find() gives it again.
    const std::string& name() const { return name_; }

    // Whether it was made for calls of this shape.
    bool takes(const GemmCall& call) const { return plan_->takes(call); }

    // Enqueues a call that it takes. Throws DeviceError.
    void gemm(const GemmCall& call, int ordinal, cudaStream_t stream,
              WorkspacePool& workspaces) const;

   private:
    std::shared_ptr<const CublasLt::Plan> plan_;
    std::size_t index_;
    std::string name_;
    mutable std::mutex mutex_;  // held while a call is enqueued
  };

  // Both for the current device, which has this ordinal. call: cublas_takes(). Algorithms must not
  // outlive this object.

  // What cublasLt proposes for the call, at most `most`; none where it cannot be opened.
  std::vector<std::shared_ptr<const Algorithm>> proposals(const GemmCall& call, int ordinal,
                                                          int most);

  // Null where the name is none, of another version of cublasLt, or of an algorithm that cublasLt
  // refuses for the call.
  std::shared_ptr<const Algorithm> find(std::string_view name, const GemmCall& call, int ordinal);

 private:
  OncePerKey<int, std::unique_ptr<CublasLt>> devices_;
};

}  // namespace gemm_tune
