// SPDX-License-Identifier: Apache-2.0
#include "runtime/workspace_pool.h"

#include <algorithm>
#include <string>

#include "core/error.h"

namespace gemm_tune {

void WorkspacePool::StreamWorkspaces::grow_to(std::int64_t bytes, cudaStream_t stream) {
  const std::int64_t last = grown.empty() ? 0 : grown.back().bytes();
  if (last >= bytes) return;
  const OutsideCapture other_streams;
  // At least twice the last, so that all of them together stay below twice the largest, unless
  // memory holds only what is asked.
  try {
    grown.emplace_back(std::max(bytes, 2 * last), stream);
  } catch (const CudaError& error) {
    if (error.code() != cudaErrorMemoryAllocation || 2 * last <= bytes) throw;
    grown.emplace_back(bytes, stream);
  }
}

void WorkspacePool::check_suffices(const GivenWorkspace& given, std::int64_t bytes) {
  if (given.bytes >= bytes) return;
  throw NoKernelError("the captured call's workspace has " + std::to_string(given.bytes) +
                      " bytes, and the kernel that serves it needs " + std::to_string(bytes));
}

void WorkspacePool::zero_counters(const GivenWorkspace& given, cudaStream_t stream) {
  const auto bytes =
      static_cast<std::size_t>(std::min<std::int64_t>(given.bytes, kWorkspaceCounterBytes));
  GT_CUDA(cudaMemsetAsync(given.data, 0, bytes, stream));
}

WorkspacePool::StreamWorkspaces& WorkspacePool::of(int ordinal, cudaStream_t stream) {
  unsigned long long id = 0;
  GT_CUDA(cudaStreamGetId(stream, &id));
  const std::lock_guard guard(mutex_);
  return workspaces_[{ordinal, id}];
}

}  // namespace gemm_tune
