// SPDX-License-Identifier: Apache-2.0
// The kernels before the product, which split the operands (device/parts/split.cuh).
#pragma once

#include "kernel_templates/device/parts/split.cuh"
#include "kernel_templates/wgmma_parts/config.cuh"

namespace gemm_tune::wgmma_parts {

template <parts::Across ACROSS>
__device__ inline void split_operands(const parts::SplitArgs& args) {
  wgmma::allow_next_launch();
  wgmma::await_earlier_launch();
  parts::split_operands<kPartsA, kPartsB, kP.TA == 0, kP.TB != 0, ACROSS>(args);
}

extern "C" __global__ void __launch_bounds__(parts::kMostSplitThreads, parts::kSplitCtas)
    split(const __grid_constant__ parts::SplitArgs args) {
  split_operands<parts::is_scaled(kParts) ? parts::Across::short_strips
                                          : parts::Across::wide_strips>(args);
}

// Long lines across the rows that are scaled.
extern "C" __global__ void __cluster_dims__(1, parts::kSplitCluster, 1)
    __launch_bounds__(parts::kMostSplitThreads, parts::kSplitCtas)
        split_in_clusters(const __grid_constant__ parts::SplitArgs args) {
  if constexpr (parts::is_scaled(kParts) && has_lines_across(kP)) {
    split_operands<parts::Across::wide_strips>(args);
  }
}

}  // namespace gemm_tune::wgmma_parts
