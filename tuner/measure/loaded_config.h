// SPDX-License-Identifier: Apache-2.0
// A compiled candidate, loaded on the current device, and how to launch it. One thread.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>
#include <optional>
#include <utility>

#include "core/problem/gemm_call.h"
#include "kernel_templates/registry/registry.h"
#include "runtime/loaded_kernels.h"
#include "runtime/prepared_call.h"
#include "runtime/workspace.h"
#include "tuner/measure/requests.h"

namespace gemm_tune {

class LoadedConfig {
 public:
  LoadedConfig(const CompiledConfig& compiled, int sm_count)
      : config_(check_config(parse_config(compiled.config))),
        sm_count_(sm_count),
        kernels_(compiled.cubin) {}

  const KnownConfig& config() const { return config_; }

  int max_active_ctas(const Problem& problem) const {
    return gemm_tune::max_active_ctas(kernels_, prepared(problem).plan());
  }

  bool shares_tiles() const {
    return config_.recipe.split_k > 1 || config_.recipe.tail_ctas_per_sm > 0 ||
           config_.traits.cuts_tiles;
  }

  std::int64_t workspace_bytes(const Problem& problem) const {
    return prepared(problem).plan().workspace_bytes;
  }

  // The workspace must have the bytes that the call's problem needs.
  void launch(const GemmCall& call, const Workspace& workspace, cudaStream_t stream) const {
    prepared(call.problem).launch(call, workspace.data(), stream);
  }

 private:
  // Of calls that are timed, one after the other has the same problem. Libraries' kernels wait for
  // the launch before; so do these, though what is served may overlap with it.
  const PreparedCall& prepared(const Problem& problem) const {
    if (!latest_ || latest_->first != problem) {
      const LaunchPlan plan = config_.plan(problem, sm_count_);
      latest_.emplace(problem, PreparedCall(kernels_, plan.without_overlap_before()));
    }
    return latest_->second;
  }

  KnownConfig config_;
  int sm_count_;
  LoadedKernels kernels_;
  mutable std::optional<std::pair<Problem, PreparedCall>> latest_;
};

}  // namespace gemm_tune
