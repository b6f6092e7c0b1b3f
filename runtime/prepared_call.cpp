// SPDX-License-Identifier: Apache-2.0
#include "runtime/prepared_call.h"

#include <utility>

#include "gpu/launch/tensor_map.h"

namespace gemm_tune {

PreparedCall::PreparedCall(const LoadedKernels& loaded, LaunchPlan plan) : plan_(std::move(plan)) {
  for (const Step& step : plan_.steps) {
    kernels_.push_back(&loaded.at(step.entry));
    kept_maps_.push_back(std::make_unique<KeptTensorMap[]>(step.arguments.tensor_maps().size()));
  }
}

void PreparedCall::launch(const GemmCall& call, void* workspace, cudaStream_t stream) const {
  run_plan(
      plan_, call,
      [&](std::size_t i) { return static_cast<char*>(workspace) + plan_.regions[i].offset; },
      [&](const BoundTensorMap& map, std::size_t step, std::size_t i, void* to) {
        kept_maps_[step][i].get(map, to, encode_tensor_map);
      },
      [&](std::size_t index, const Step& step, void** parameters) {
        using Begin = LoadedKernel::Begin;
        kernels_[index]->launch(step.grid, step.threads, step.smem_bytes, stream, parameters,
                                step.overlaps ? Begin::early : Begin::after_earlier_work);
      });
}

int max_active_ctas(const LoadedKernels& loaded, const LaunchPlan& plan) {
  const Step& step = plan.product();
  return loaded.at(step.entry).max_active_ctas(step.threads, step.smem_bytes);
}

}  // namespace gemm_tune
