// SPDX-License-Identifier: Apache-2.0
// A warp's operands of mma.sync, from slices in shared memory, in blocks of 16 x 16.
//
// Both operands are alike: a block is four matrices of 8 x 8, numbered edge half + 2 * k half, and
// four registers of each lane. Of A these are the registers of one 16 x 16 operand in their order;
// of B, 0 and 2 are those of the first 16 x 8 operand, 1 and 3 those of the second. PTX ISA 9.0,
// section "Matrix Fragments for mma.m16n8k16 with floating point type".
#pragma once

#include "kernel_templates/device/copy/chunk_map.cuh"
#include "kernel_templates/device/tile/tensor_core.cuh"

namespace gemm_tune {

struct MmaBlock {
  unsigned x[4];

  // Of a slice of EDGE x BK elements, at a place that is a multiple of 16 in both directions. Where
  // k does not run along the stored rows, ldmatrix transposes the matrices on the way.
  template <int EDGE, int BK, bool ALONG_K>
  __device__ void load(const Bits16* slice, int edge, int k) {
    const int lane = static_cast<int>(threadIdx.x) % 32;
    const int edge_half = lane / 8 % 2 * 8, k_half = lane / 16 * 8;
    constexpr int kChunks = slice_chunks(EDGE, BK, ALONG_K);
    const int row = ALONG_K ? edge + edge_half : k + k_half;
    const int col = ALONG_K ? k + k_half : edge + edge_half;
    load_matrices<!ALONG_K>(x, slice + chunk_offset(row + lane % 8, col / kChunk, kChunks));
  }
};

// Adds the product of a block of A and the `half`-th half of a block of B.
template <int TYPE, int MMA_K>
__device__ inline void multiply_blocks(float (&sums)[4], const MmaBlock& a, const MmaBlock& b,
                                       int half) {
  if constexpr (MMA_K == 16) {
    mma_k16<TYPE>(sums, a.x, b.x[half], b.x[half + 2]);
  } else {
    mma_k8(sums, a.x[0], a.x[1], b.x[half]);
    mma_k8(sums, a.x[2], a.x[3], b.x[half + 2]);
  }
}

}  // namespace gemm_tune
