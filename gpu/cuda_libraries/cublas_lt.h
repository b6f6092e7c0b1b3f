// SPDX-License-Identifier: Apache-2.0
// cublasLt as a baseline, in row-major terms: it stands for a program that times all proposals of
// cublasLt and keeps the fastest. Opened when first needed.
//
// No binary links libcublasLt (gpu/cuda_libraries/cublas.h says why). FP32 stays FP32: no TF32. An
// object belongs to the device that was current when it was made. Use one object from one thread at
// a time.
#pragma once

#include <cuda_runtime_api.h>

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "core/problem/gemm_call.h"

namespace gemm_tune {

// An algorithm of one version of cublasLt, as numbers that outlive the process. Those of
// kLtAttributes, in this order, are what cublasLt's interface tells; then the bytes of workspace;
// then, for each 32 bits of the structure in which cublasLt hands the algorithm out, the difference
// from the structure that the attributes make. Where the attributes tell all, these are 0.
inline constexpr std::size_t kLtAttributes = 9, kLtWords = 16;
using LtAlgorithm = std::array<int, kLtAttributes + 1 + kLtWords>;

class CublasLt {
 public:
  // Scratch memory on the device that an algorithm may need.
  static constexpr std::size_t kWorkspaceBytes = std::size_t{32} << 20;

  // Algorithms for calls of one shape.
  class Plan {
   public:
    ~Plan();
    Plan(Plan&&) noexcept;
    Plan& operator=(Plan&&) noexcept;

    std::size_t size() const;

    // Whether the call differs from the plan's only in addresses, alpha and beta.
    bool has_shape_of(const GemmCall& call) const;

    // Scratch memory that algorithm i needs.
    std::size_t workspace_bytes(std::size_t i) const;

    // Enqueues a call of the plan's shape, with algorithm i < size(). workspace: of
    // workspace_bytes(i), which no other call uses meanwhile. False if the library refuses the
    // call, as where its addresses are less aligned than the algorithm needs.
    bool run(std::size_t i, const GemmCall& call, cudaStream_t stream, void* workspace) const;

    // The algorithm, for plan_of().
    LtAlgorithm algorithm(std::size_t i) const;

   private:
    friend class CublasLt;
    struct Impl;
    explicit Plan(std::unique_ptr<Impl> impl);
    std::unique_ptr<Impl> impl_;
  };

  // Throws DeviceError if libcublasLt.so.13 cannot be opened or finds no usable device.
  CublasLt();
  ~CublasLt();
  CublasLt(CublasLt&&) noexcept;
  CublasLt& operator=(CublasLt&&) noexcept;

  // "13.1.0".
  std::string version() const;

  // The same without a GPU. Throws DeviceError if the library cannot be opened.
  static std::string installed_version();

  // The call may have an epilogue of cublas_abi::kLtEpilogues; others throw DeviceError.
  // cublasLt's proposals, at most `most`, in the order of its own time estimates, fastest first;
  // none if it has no algorithm for the call. Throws DeviceError. The CublasLt must outlive the
  // plan.
  Plan plan(const GemmCall& call, int most = 100) const;

  // The plan with this algorithm alone; nothing where cublasLt refuses it for the call. algorithm:
  // of this version(). Throws DeviceError. The CublasLt must outlive the plan.
  std::optional<Plan> plan_of(const LtAlgorithm& algorithm, const GemmCall& call) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace gemm_tune
