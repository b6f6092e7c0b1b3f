// SPDX-License-Identifier: Apache-2.0
// A launch plan with its kernels loaded: what is left of a choice once it is compiled, for one
// problem on one device.
//
// Refers to its kernels. Any thread.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "core/launch/launch_plan.h"
#include "runtime/kept_tensor_map.h"
#include "runtime/loaded_kernels.h"

namespace gemm_tune {

class PreparedCall {
 public:
  // loaded: must outlive this object. Throws CudaError where it lacks a kernel of the plan.
  PreparedCall(const LoadedKernels& loaded, LaunchPlan plan);

  const LaunchPlan& plan() const { return plan_; }

  // Enqueues the launches of a call of the plan's problem. workspace: has the plan's
  // workspace_bytes, the first zeroed_bytes of them zero. Throws CudaError where a launch is
  // refused.
  void launch(const GemmCall& call, void* workspace, cudaStream_t stream) const;

 private:
  LaunchPlan plan_;
  std::vector<const LoadedKernel*> kernels_;  // of each step
  // Of each step's tensor maps.
  std::vector<std::unique_ptr<KeptTensorMap[]>> kept_maps_;
};

// Resident CTAs of the plan's product per SM, by the runtime's account.
int max_active_ctas(const LoadedKernels& loaded, const LaunchPlan& plan);

}  // namespace gemm_tune
