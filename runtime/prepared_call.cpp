// SPDX-License-Identifier: Apache-2.0
#include "runtime/prepared_call.h"

#include "kernel_templates/launch_args.h"

namespace gemm_tune {

std::int64_t PreparedCall::workspace_bytes(const Problem& problem) const {
  return gemm_tune::workspace_bytes(recipe_, problem, sm_count_);
}

int PreparedCall::max_active_ctas() const {
  return kernel_->max_active_ctas(recipe_.block_threads, recipe_.smem_bytes);
}

void PreparedCall::launch(const GemmCall& call, int* counters, float* partials,
                          cudaStream_t stream) const {
  const Grid grid = grid_of(recipe_, call.problem, sm_count_);
  GemmArgs args = launch_args(call, grid, counters, partials);
  void* parameters[] = {&args};
  kernel_->launch(grid, recipe_.block_threads, recipe_.smem_bytes, stream, parameters);
}

}  // namespace gemm_tune
