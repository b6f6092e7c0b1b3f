// SPDX-License-Identifier: Apache-2.0
// The kernels that a config's calls launch, loaded from its cubin.
//
// They belong to the device that was current when they were loaded. Const calls may come from
// several threads at once.
#pragma once

#include <optional>
#include <string>

#include "core/launch_recipe.h"
#include "gpu/kernel.h"

namespace gemm_tune {

struct LoadedKernels {
  // Throws CudaError if the cubin does not fit the device or lacks a kernel.
  LoadedKernels(const std::string& cubin, const LaunchRecipe& recipe) : gemm(cubin) {
    if (recipe.repack) repack.emplace(cubin, "repack");
    if (recipe.reduce) reduce.emplace(cubin, "reduce");
  }

  LoadedKernel gemm;
  std::optional<LoadedKernel> repack;  // kernel_templates/device/repack.cuh
  std::optional<LoadedKernel> reduce;  // kernel_templates/device/share_reduce.cuh
};

}  // namespace gemm_tune
