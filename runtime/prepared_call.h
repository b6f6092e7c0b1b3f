// SPDX-License-Identifier: Apache-2.0
// A loaded config and how to launch it on one device: what is left of a choice once it is compiled.
//
// A small value that refers to its kernels. Any thread.
#pragma once

#include <cstdint>

#include "core/gemm_call.h"
#include "core/launch_recipe.h"
#include "runtime/loaded_kernels.h"

namespace gemm_tune {

class PreparedCall {
 public:
  // loaded: on a device of so many SMs; must outlive this object.
  PreparedCall(const LoadedKernels& loaded, const LaunchRecipe& recipe, int sm_count)
      : loaded_(&loaded), recipe_(recipe), sm_count_(sm_count) {}

  // Scratch memory of one call for the problem.
  std::int64_t workspace_bytes(const Problem& problem) const;

  // Resident CTAs per SM by the runtime's account.
  int max_active_ctas() const;

  Grid grid(const Problem& problem) const;

  // Enqueues the call, which the recipe must allow, in one to three launches. grid: grid() of the
  // call's problem. counters and partials: of a workspace with its workspace_bytes(); null where
  // these are 0. Throws CudaError where the launch is refused.
  void launch(const GemmCall& call, const Grid& grid, int* counters, float* partials,
              cudaStream_t stream) const;
  void launch(const GemmCall& call, int* counters, float* partials, cudaStream_t stream) const {
    launch(call, grid(call.problem), counters, partials, stream);
  }

 private:
  GemmCall repacked(const GemmCall& call, char* workspace, cudaStream_t stream) const;

  const LoadedKernels* loaded_;
  LaunchRecipe recipe_;
  int sm_count_;
};

}  // namespace gemm_tune
