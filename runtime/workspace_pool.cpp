// SPDX-License-Identifier: Apache-2.0
#include "runtime/workspace_pool.h"

#include <algorithm>

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

WorkspacePool::StreamWorkspaces& WorkspacePool::of(int ordinal, cudaStream_t stream) {
  unsigned long long id = 0;
  GT_CUDA(cudaStreamGetId(stream, &id));
  const std::lock_guard guard(mutex_);
  return workspaces_[{ordinal, id}];
}

}  // namespace gemm_tune
