// SPDX-License-Identifier: Apache-2.0
// cublasLt as a baseline, in row-major terms: it stands for a program that times all proposals of
// cublasLt and keeps the fastest. Opened when first needed.
//
// No binary links libcublasLt (gpu/cublas.h says why). FP32 stays FP32: no TF32. An object belongs
// to the device that was current when it was made. Use one object from one thread at a time.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>
#include <memory>
#include <string>

#include "core/gemm_call.h"

namespace gemm_tune {

class CublasLt {
 public:
  // Global scratch memory that an algorithm may use.
  static constexpr std::size_t kWorkspaceBytes = std::size_t{32} << 20;

  // cublasLt's proposals for calls of one shape: algorithms in the order of cublasLt's own time
  // estimates, fastest first.
  class Plan {
   public:
    ~Plan();
    Plan(Plan&&) noexcept;
    Plan& operator=(Plan&&) noexcept;

    std::size_t size() const;

    // Enqueues the call with algorithm i < size(). The call may differ from the plan's only in
    // addresses, alpha and beta; its addresses must be aligned at least as well. False if the
    // library refuses the call. Calls that may overlap must not use the same CublasLt: they share
    // its workspace.
    bool run(std::size_t i, const GemmCall& call, cudaStream_t stream) const;

   private:
    friend class CublasLt;
    struct Impl;
    explicit Plan(std::unique_ptr<Impl> impl);
    std::unique_ptr<Impl> impl_;
  };

  // Throws DeviceError if libcublasLt.so.13 cannot be opened or finds no usable device, and
  // CudaError if there is no memory for the workspace.
  CublasLt();
  ~CublasLt();
  CublasLt(CublasLt&&) noexcept;
  CublasLt& operator=(CublasLt&&) noexcept;

  // "13.1.0".
  std::string version() const;

  // At most `most` algorithms; none if cublasLt has no algorithm for the call. Throws DeviceError.
  // The CublasLt must outlive the plan.
  Plan plan(const GemmCall& call, int most = 100) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace gemm_tune
