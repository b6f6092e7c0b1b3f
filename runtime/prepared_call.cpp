// SPDX-License-Identifier: Apache-2.0
#include "runtime/prepared_call.h"

#include "kernel_templates/launch_args.h"

namespace gemm_tune {

std::int64_t PreparedCall::workspace_bytes(const Problem& problem) const {
  return gemm_tune::workspace_bytes(recipe_, problem, sm_count_);
}

int PreparedCall::max_active_ctas() const {
  return loaded_->gemm.max_active_ctas(recipe_.block_threads, recipe_.smem_bytes);
}

Grid PreparedCall::grid(const Problem& problem) const {
  return grid_of(recipe_, problem, sm_count_);
}

void PreparedCall::launch(const GemmCall& call, const Grid& grid, int* counters, float* partials,
                          cudaStream_t stream) const {
  GemmArgs args = recipe_.repack
                      ? launch_args(repacked(call, reinterpret_cast<char*>(counters), stream), grid,
                                    counters, partials)
                      : launch_args(call, grid, counters, partials);
  void* parameters[] = {&args};
  loaded_->gemm.launch(grid, recipe_.block_threads, recipe_.smem_bytes, stream, parameters);
  if (!recipe_.reduce) return;
  const Grid after = reduce_grid(recipe_, launch_problem(call.problem), sm_count_);
  if (after.ctas() > 0) loaded_->reduce->launch(after, kReduceThreads, 0, stream, parameters);
}

// The call on copies of what it has unaligned, which an earlier launch makes.
GemmCall PreparedCall::repacked(const GemmCall& call, char* workspace, cudaStream_t stream) const {
  const RepackedOperands copies =
      repacked_operands(recipe_, launch_problem(call.problem), sm_count_);
  const bool reads_operands = call.alpha != 0;
  if (!reads_operands || (!copies.a.exists() && !copies.b.exists())) return call;
  char* const a = workspace + copies.a.offset;
  char* const b = workspace + copies.b.offset;
  RepackArgs args = repack_args(call, copies, a, b);
  void* parameters[] = {&args};
  loaded_->repack->launch(repack_grid(args), kRepackThreads, 0, stream, parameters);
  return on_copies(call, copies, a, b);
}

}  // namespace gemm_tune
