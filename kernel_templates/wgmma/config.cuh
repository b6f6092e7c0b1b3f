// SPDX-License-Identifier: Apache-2.0
// The config that the kernel is compiled for, and the CTA's place in its cluster.
#pragma once

#include "kernel_templates/wgmma/args.cuh"
#include "kernel_templates/wgmma/barriers.cuh"
#include "kernel_templates/wgmma/descriptor.cuh"
#include "kernel_templates/wgmma/params.cuh"

namespace gemm_tune::wgmma {

constexpr Params kP = TUNED_PARAMS;
static_assert(reject(kP) == nullptr);

constexpr bool kLeftAlongK = left_along_k(kP), kRightAlongK = right_along_k(kP);
constexpr int kClusterCtas = cluster_ctas(kP);
constexpr int kStages = stages(kP);
constexpr int kBlocks = group_blocks(kP);  // instructions that cover a consumer's rows

constexpr int kBlockK = block_k(kP);
using LeftTile = TileLayout<kP.BM, kLeftAlongK, element_bytes(kP)>;
using RightTile = TileLayout<kP.BN, kRightAlongK, element_bytes(kP)>;

// Ranks count the columns of a cluster first, then its rows, then its parts of K.
struct ClusterPlace {
  int rank, row, col, k;

  explicit __device__ ClusterPlace(int rank) : rank(rank) {
    col = rank % kP.CLUSTER_N;
    row = rank / kP.CLUSTER_N % kP.CLUSTER_M;
    k = rank / (kP.CLUSTER_N * kP.CLUSTER_M);
  }
  __device__ int rank_of(int of_row, int of_col) const {
    return (k * kP.CLUSTER_M + of_row) * kP.CLUSTER_N + of_col;
  }
};

// The consumer's sums of a tile: kBlocks blocks of 64 rows.
using Sums = float[kBlocks][kP.BN / 2];

// The consumer's row that a thread's sums of a block are of; half: of the two rows that it has.
__device__ inline int row_of_sums(int thread, int block, int half) {
  return block * kMmaM + thread % kGroup / 32 * 16 + thread % 32 / 4 + half * 8;
}

}  // namespace gemm_tune::wgmma
