// SPDX-License-Identifier: Apache-2.0
// The config that the kernels are compiled for.
#pragma once

#include "kernel_templates/device/parts/output.cuh"
#include "kernel_templates/wgmma/args.cuh"
#include "kernel_templates/wgmma/barriers.cuh"
#include "kernel_templates/wgmma_parts/params.cuh"

namespace gemm_tune::wgmma_parts {

using parts::Args;
using parts::k_blocks_of;
using wgmma::TensorMap;

constexpr Params kP = TUNED_PARAMS;
static_assert(reject(kP) == nullptr);

constexpr int kParts = parts_of(kP), kPartType = parts::part_type(kParts);
constexpr int kPartsA = parts_of_a(kP), kPartsB = parts_of_b(kP);
constexpr bool kAreLinesTold = parts::are_lines_told(kPartsA, kPartsB);
constexpr int kStages = stages(kP);
constexpr int kBlocks = group_blocks(kP);  // instructions that cover a consumer's rows

// Sums of a consumer's part of the tile.
using Sums = float[kBlocks][kP.BN / 2];

}  // namespace gemm_tune::wgmma_parts
