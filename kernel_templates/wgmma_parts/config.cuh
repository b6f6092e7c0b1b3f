// SPDX-License-Identifier: Apache-2.0
// The config that the kernels are compiled for.
#pragma once

#include "kernel_templates/wgmma/barriers.cuh"
#include "kernel_templates/wgmma_parts/args.cuh"
#include "kernel_templates/wgmma_parts/params.cuh"

namespace gemm_tune::wgmma_parts {

constexpr Params kP = TUNED_PARAMS;
static_assert(reject(kP) == nullptr);

constexpr int kParts = parts(kP), kPartType = part_type(kP);
constexpr int kStages = stages(kP);
constexpr int kBlocks = group_blocks(kP);  // instructions that cover a consumer's rows

// Sums of a consumer's part of the tile.
using Sums = float[kBlocks][kP.BN / 2];

// Blocks of K: none where alpha is 0, and A and B are not read.
__device__ inline int k_blocks_of(const Args& args) {
  return args.alpha == 0.0f ? 0 : (args.K + kBK - 1) / kBK;
}

}  // namespace gemm_tune::wgmma_parts
