// SPDX-License-Identifier: Apache-2.0
// A warp's operands of mma.sync, from slices in shared memory, in blocks of 16 x 16.
//
// A block is four matrices of 8 x 8 and four registers of each lane. Of A these are the registers
// of one 16 x 16 operand in their order; of B, the first two are those of one 16 x 8 operand and
// the last two those of the next: the instruction takes neighbours, and any other order costs a
// copy of each register. PTX ISA 9.0, section "Matrix Fragments for mma.m16n8k16 with floating
// point type".
#pragma once

#include "kernel_templates/device/copy/chunk_map.cuh"
#include "kernel_templates/device/tile/tensor_core.cuh"
#include "kernel_templates/rules.h"

namespace gemm_tune {

struct MmaBlock {
  unsigned x[4];
};

enum class MmaOperand { a, b };

// Where a lane finds its rows of a warp's blocks in a slice of EDGE x BK elements, of which the
// warp has WARP along the edge. Where k does not run along the stored rows, ldmatrix transposes
// the matrices on the way.
//
// Blocks beside each other in a stored row differ in the number of their chunks before these are
// exchanged, which is by an exclusive or: so do their places. That takes an instruction a block
// where places that are kept would take a register; where a warp's first block is any of those
// among which chunks are exchanged, places are kept.
template <MmaOperand OPERAND, int EDGE, int BK, bool ALONG_K, int WARP>
class MmaPlaces {
 public:
  // first: the warp's first row of A or column of B in the slice, a multiple of 16.
  explicit __device__ MmaPlaces(int first) {
    const int lane = static_cast<int>(threadIdx.x) % 32;
    // Of the matrices 0 to 3, A has the halves along the edge first, B those along k.
    const int one = lane / 8 % 2 * 8, other = lane / 16 * 8;
    const int edge = first + (OPERAND == MmaOperand::a ? one : other);
    const int k = OPERAND == MmaOperand::a ? other : one;
    const int row = ALONG_K ? edge : k, col = ALONG_K ? k : edge;
#pragma unroll
    for (int i = 0; i < kPlaces; ++i) {
      places_[i] = chunk_offset(row + lane % 8, (col + i * kBlock) / kChunk, kChunks);
    }
  }

  // Block i along the edge, of a k step. begin: the slice's first element, counted from smem.
  __device__ void load(MmaBlock& block, const Bits16* smem, int begin, int i, int step) const {
    const int along_row = ALONG_K ? step : i, across = ALONG_K ? i : step;
    constexpr int kRowOfBlocks = kBlock * kChunks * kChunk;
    const int exchanged = along_row % kExchanged;
    const int place = begin + places_[exchanged % kPlaces];
    const Bits16* const of_row = smem + (kPlaces > 1 ? place : place ^ exchanged * kBlock);
    load_matrices<!ALONG_K>(
        block.x, of_row + (across * kRowOfBlocks + along_row / kExchanged * kExchanged * kBlock));
  }

 private:
  static constexpr int kChunks = slice_chunks(EDGE, BK, ALONG_K);
  // Neighbouring blocks among which chunks are exchanged.
  static constexpr int kExchanged = max_of(1, swizzle_width(kChunks) * kChunk / kBlock);

  static constexpr int kBlocks = WARP / kBlock;
  static constexpr bool kIsFirst =
      ALONG_K || kBlocks % kExchanged == 0 || kExchanged % kBlocks == 0;
  static constexpr int kPlaces = kIsFirst ? 1 : min_of(kBlocks, kExchanged);

  int places_[kPlaces];
};

// Adds the product of a block of A and the `half`-th half of a block of B.
template <int TYPE, int MMA_K>
__device__ inline void multiply_blocks(float (&sums)[4], const MmaBlock& a, const MmaBlock& b,
                                       int half) {
  if constexpr (MMA_K == 16) {
    mma_k16<TYPE>(sums, a.x, b.x[2 * half], b.x[2 * half + 1]);
  } else {
    mma_k8(sums, a.x[0], a.x[1], b.x[2 * half]);
    mma_k8(sums, a.x[2], a.x[3], b.x[2 * half + 1]);
  }
}

}  // namespace gemm_tune
