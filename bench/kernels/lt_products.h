// SPDX-License-Identifier: Apache-2.0
// cublasLt's algorithms for products of tf32 and of e4m3, which the library itself does not offer
// as candidates yet: an arm of a bench. Use from one thread.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <memory>

#include "core/problem/gemm_call.h"

namespace gemm_tune {

class LtProducts {
 public:
  static constexpr std::size_t kWorkspaceBytes = std::size_t{64} << 20;

  // Up to `most` algorithms for the call, whose matrices are no batch. Operands of f32 are
  // multiplied as tf32. fast_accumulation: sums of e4m3 stay in the tensor cores. Throws
  // DeviceError where cublasLt refuses the description.
  LtProducts(const GemmCall& call, bool fast_accumulation, int most);
  ~LtProducts();
  LtProducts(const LtProducts&) = delete;
  LtProducts& operator=(const LtProducts&) = delete;

  std::size_t size() const;

  // Enqueues the call with algorithm i < size(). workspace: of kWorkspaceBytes. Throws DeviceError
  // where cublasLt refuses it.
  void run(std::size_t i, cudaStream_t stream, void* workspace) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace gemm_tune
