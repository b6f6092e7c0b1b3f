// SPDX-License-Identifier: Apache-2.0
// A loaded kernel and how to launch it on one device: what is left of a choice once it is compiled.
//
// A small value that refers to its kernel. Any thread.
#pragma once

#include <cstdint>

#include "core/gemm_call.h"
#include "core/launch_recipe.h"
#include "gpu/kernel.h"

namespace gemm_tune {

class PreparedCall {
 public:
  // kernel: loaded on a device of so many SMs; must outlive this object.
  PreparedCall(const LoadedKernel& kernel, const LaunchRecipe& recipe, int sm_count)
      : kernel_(&kernel), recipe_(recipe), sm_count_(sm_count) {}

  // Scratch memory of one launch for the problem.
  std::int64_t workspace_bytes(const Problem& problem) const;

  // Resident CTAs per SM by the runtime's account.
  int max_active_ctas() const;

  // Enqueues the call, which the recipe must allow. counters and partials: of a workspace with the
  // workspace_bytes() of the call's problem; null where these are 0. Throws CudaError where the
  // launch is refused.
  void launch(const GemmCall& call, int* counters, float* partials, cudaStream_t stream) const;

 private:
  const LoadedKernel* kernel_;
  LaunchRecipe recipe_;
  int sm_count_;
};

}  // namespace gemm_tune
