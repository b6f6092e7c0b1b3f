// SPDX-License-Identifier: Apache-2.0
// cublasLt as a baseline, in row-major terms: what a program gets that asks it for all its
// proposals and keeps the one that it timed as the fastest. Opened when first needed.
//
// libcublasLt is no dependency of any binary, as in gpu/cublas.h. FP32 stays FP32: no TF32. Belongs
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

  // What cublasLt proposes for calls of one shape: its algorithms, the fastest by its own estimate
  // first.
  class Plan {
   public:
    ~Plan();
    Plan(Plan&&) noexcept;
    Plan& operator=(Plan&&) noexcept;

    std::size_t size() const;

    // Enqueues the call by algorithm i < size(). The call differs from the plan's in addresses,
    // alpha and beta only, and its addresses are aligned as well as those. False where the library
    // refuses it. Calls that may overlap must not use the same CublasLt: they share its workspace.
    bool run(std::size_t i, const GemmCall& call, cudaStream_t stream) const;

   private:
    friend class CublasLt;
    struct Impl;
    explicit Plan(std::unique_ptr<Impl> impl);
    std::unique_ptr<Impl> impl_;
  };

  // Throws DeviceError where libcublasLt.so.13 cannot be opened or has no device to work on, and
  // CudaError where there is no memory for the workspace.
  CublasLt();
  ~CublasLt();
  CublasLt(CublasLt&&) noexcept;
  CublasLt& operator=(CublasLt&&) noexcept;

  // "13.1.0".
  std::string version() const;

  // At most `most` algorithms; none where cublasLt knows no way. Throws DeviceError. The CublasLt
  // must outlive the plan.
  Plan plan(const GemmCall& call, int most = 100) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace gemm_tune
