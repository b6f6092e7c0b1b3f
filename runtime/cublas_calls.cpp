// SPDX-License-Identifier: Apache-2.0
#include "runtime/cublas_calls.h"

#include <algorithm>
#include <limits>

namespace gemm_tune {

bool cublas_takes(const Problem& problem) {
  const Alignment& aligned = problem.alignment;
  return problem.K > 0 && std::min({aligned.a, aligned.b, aligned.c, aligned.d}) >= 4;
}

bool cublas_takes(const GemmCall& call) {
  return cublas_takes(call.problem) && call.alpha != 0 && form_of(call) == CallForm() &&
         std::max({call.lda, call.ldb, call.ldc}) <= std::numeric_limits<int>::max();
}

void CublasCalls::OnDevice::gemm(const GemmCall& call, int ordinal, cudaStream_t stream,
                                 WorkspacePool& workspaces) {
  constexpr std::int64_t kBytes = Cublas::kWorkspaceBytes;
  workspaces.lend_scratch(kBytes, ordinal, stream, [&](void* memory) {
    const std::lock_guard enqueuing(mutex_);
    cublas_.set_stream(stream);  // which takes the scratch memory away
    cublas_.set_workspace(memory, kBytes);
    cublas_.gemm(call);
  });
}

}  // namespace gemm_tune
