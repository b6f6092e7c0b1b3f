// SPDX-License-Identifier: Apache-2.0
#include "runtime/workspace.h"

#include <algorithm>
#include <string>
#include <vector>

#include "core/error.h"
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

CapturedWorkspace::CapturedWorkspace(std::int64_t bytes, Counters counters, cudaStream_t stream,
                                     const GivenWorkspace& given)
    : memory_(given.data), is_given_(given.is_given()), stream_(stream) {
  if (is_given_ && given.bytes < bytes) {
    throw NoKernelError("the captured call's workspace has " + std::to_string(given.bytes) +
                        " bytes, and the kernel that serves it needs " + std::to_string(bytes));
  }
  if (!is_given_) GT_CUDA(cudaMallocAsync(&memory_, static_cast<std::size_t>(bytes), stream));
  if (counters == Counters::none) return;
  const auto counters_bytes =
      static_cast<std::size_t>(std::min<std::int64_t>(bytes, kWorkspaceCounterBytes));
  const cudaError_t zeroed = cudaMemsetAsync(memory_, 0, counters_bytes, stream);
  if (zeroed == cudaSuccess) return;
  free_own();
  check_cuda(zeroed, "cudaMemsetAsync");
}

// A failure here comes from a capture that has become invalid, which its owner learns at its end.
void CapturedWorkspace::free_own() const {
  if (!is_given_) cudaFreeAsync(memory_, stream_);
}

CapturedWorkspace::~CapturedWorkspace() { free_own(); }

}  // namespace gemm_tune
