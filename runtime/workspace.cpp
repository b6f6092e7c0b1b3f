// SPDX-License-Identifier: Apache-2.0
#include "runtime/workspace.h"

#include <algorithm>
#include <vector>

#include "core/launch/launch_recipe.h"

namespace gemm_tune {

Workspace::Workspace(std::int64_t bytes, cudaStream_t stream)
    : memory_(static_cast<std::size_t>(
          bytes == 0 ? 0 : std::max<std::int64_t>(bytes, kWorkspaceCounterBytes))) {
  if (memory_.size() == 0) return;
  GT_CUDA(cudaMemsetAsync(memory_.data(), 0, kWorkspaceCounterBytes, stream));
}

void Workspace::poison(std::int64_t bytes, cudaStream_t stream) const {
  const std::int64_t others = std::min(bytes, this->bytes()) - kWorkspaceCounterBytes;
  if (others <= 0) return;
  GT_CUDA(cudaMemsetAsync(memory_.data() + kWorkspaceCounterBytes, 0xFF,
                          static_cast<std::size_t>(others), stream));
}

bool Workspace::is_clean() const {
  if (memory_.size() == 0) return true;
  std::vector<char> counters(kWorkspaceCounterBytes);
  GT_CUDA(cudaDeviceSynchronize());
  memory_.copy_to_host(counters);
  return std::all_of(counters.begin(), counters.end(), [](char byte) { return byte == 0; });
}

CapturedWorkspace::CapturedWorkspace(std::int64_t bytes, Counters counters, cudaStream_t stream)
    : stream_(stream) {
  GT_CUDA(cudaMallocAsync(&memory_, static_cast<std::size_t>(bytes), stream));
  if (counters == Counters::none) return;
  const auto counters_bytes =
      static_cast<std::size_t>(std::min<std::int64_t>(bytes, kWorkspaceCounterBytes));
  const cudaError_t zeroed = cudaMemsetAsync(memory_, 0, counters_bytes, stream);
  if (zeroed == cudaSuccess) return;
  cudaFreeAsync(memory_, stream);
  check_cuda(zeroed, "cudaMemsetAsync");
}

// A failure here comes from a capture that has become invalid, which its owner learns at its end.
CapturedWorkspace::~CapturedWorkspace() { cudaFreeAsync(memory_, stream_); }

}  // namespace gemm_tune
