// SPDX-License-Identifier: Apache-2.0
// A warp's operands of mma.sync, from slices in shared memory, in blocks of 16 x 16 elements of 16
// bits, or of 16 along M or N by 8 along K of f32.
//
// A block is four matrices of 8 rows of 16 bytes and four registers of each lane. Of A these are
// the registers of one operand of 16 rows in their order; of B, the first two are those of one
// operand of 8 columns and the last two those of the next: the instruction takes neighbours, and
// any other order costs a copy of each register. PTX ISA 9.0, sections "Matrix Fragments for
// mma.m16n8k16 with floating point type" and "Matrix Fragments for mma.m16n8k8".
#pragma once

#include "kernel_templates/device/copy/chunk_map.cuh"
#include "kernel_templates/device/element/tf32.cuh"
#include "kernel_templates/device/tile/tensor_core.cuh"
#include "kernel_templates/rules.h"

namespace gemm_tune {

struct MmaBlock {
  unsigned x[4];
};

enum class MmaOperand { a, b };

// A warp's blocks of one k step.
template <int BLOCKS_M, int BLOCKS_N>
struct WarpBlocks {
  MmaBlock a[BLOCKS_M], b[BLOCKS_N];
};

// A thread's place in the CTA tile: its warp's tile of WM x WN, of WARPS_N in a row.
template <int WARPS_N, int WM, int WN>
struct WarpPlace {
  int row, col;

  explicit __device__ WarpPlace(int thread) {
    const int warp = thread / 32;
    row = warp / WARPS_N * WM;
    col = warp % WARPS_N * WN;
  }
};

// Where a lane finds its rows of a warp's blocks in a slice of EDGE x BK elements, of which the
// warp has WARP along the edge. Where k does not run along the stored rows, ldmatrix transposes
// the matrices of 16-bit elements on the way.
//
// Blocks beside each other in a stored row differ in the number of their chunks before these are
// exchanged, which is by an exclusive or: so do their places. That takes an instruction a block
// where places that are kept would take a register; where a warp's first block is any of those
// among which chunks are exchanged, places are kept.
template <class Element, MmaOperand OPERAND, int EDGE, int BK, bool ALONG_K, int WARP>
class MmaPlaces {
  static_assert(chunk_reads(sizeof(Element), ALONG_K) == ChunkReads::eight_rows);

 public:
  // first: the warp's first row of A or column of B in the slice, a multiple of 16.
  explicit __device__ MmaPlaces(int first) {
    const int lane = static_cast<int>(threadIdx.x) % 32;
    // Of the matrices 0 to 3, A has the halves along the edge first, B those along k.
    const int one = lane / 8 % 2, other = lane / 16;
    const int edge = first + (OPERAND == MmaOperand::a ? one : other) * 8;
    const int k = (OPERAND == MmaOperand::a ? other : one) * kChunk;
    const int row = ALONG_K ? edge : k, col = ALONG_K ? k : edge;
#pragma unroll
    for (int i = 0; i < kPlaces; ++i) {
      places_[i] = chunk_offset(row + lane % 8, (col + i * kStep) / kChunk, kChunks) * kChunk;
    }
  }

  // Block i along the edge, of a k step. begin: the slice's first element, counted from smem.
  __device__ void load(MmaBlock& block, const Element* smem, int begin, int i, int step) const {
    const int along_row = ALONG_K ? step : i, across = ALONG_K ? i : step;
    constexpr int kRowOfBlocks = kBlock * kChunks * kChunk;
    const int exchanged = along_row % kExchanged;
    const int place = begin + places_[exchanged % kPlaces];
    const Element* const of_row = smem + (kPlaces > 1 ? place : place ^ exchanged * kStep);
    load_matrices<!ALONG_K>(
        block.x, of_row + (across * kRowOfBlocks + along_row / kExchanged * kExchanged * kStep));
  }

 private:
  static constexpr int kChunk = chunk_elements(sizeof(Element));
  static constexpr int kChunks = slice_chunks(EDGE, BK, ALONG_K, sizeof(Element));
  // From a block to the next one in a stored row.
  static constexpr int kStep = ALONG_K ? block_depth(sizeof(Element)) : kBlock;
  // Neighbouring blocks among which chunks are exchanged.
  static constexpr int kExchanged = max_of(1, swizzle_width(kChunks) * kChunk / kStep);

  static constexpr int kBlocks = WARP / kBlock;
  static constexpr bool kIsFirst =
      ALONG_K || kBlocks % kExchanged == 0 || kExchanged % kBlocks == 0;
  static constexpr int kPlaces = kIsFirst ? 1 : min_of(kBlocks, kExchanged);

  int places_[kPlaces];
};

// The same for elements of 32 bits where k does not run along the stored rows: a lane loads each
// element by itself, of row k = lane % 4 of four and column lane / 4 of eight. All lie in different
// banks (ChunkReads::four_rows).
template <class Element, MmaOperand OPERAND, int EDGE, int BK, int WARP>
class ElementPlaces {
  static_assert(chunk_reads(sizeof(Element), false) == ChunkReads::four_rows);

 public:
  explicit __device__ ElementPlaces(int first) {
    const int lane = static_cast<int>(threadIdx.x) % 32;
#pragma unroll
    for (int i = 0; i < kPlaces; ++i) {
      const int row = lane % 4, col = first + i * kBlock + lane / 4;
      places_[i] =
          chunk_offset<ChunkReads::four_rows>(row, col / kChunk, kChunks) * kChunk + col % kChunk;
    }
  }

  __device__ void load(MmaBlock& block, const Element* smem, int begin, int i, int step) const {
    constexpr int kRow = kChunks * kChunk;
    const int exchanged = i % kExchanged;
    const int place = begin + places_[exchanged % kPlaces];
    const int of_block = kPlaces > 1 ? place : place ^ exchanged * kBlock;
    const Element* const from =
        smem + (step * block_depth(sizeof(Element)) * kRow + i / kExchanged * kExchanged * kBlock);
#pragma unroll
    for (int edge = 0; edge < 2; ++edge) {
      const Element* const of_edge = from + (of_block ^ edge * 8);
#pragma unroll
      for (int k = 0; k < 2; ++k) {
        block.x[OPERAND == MmaOperand::a ? edge + 2 * k : 2 * edge + k] = of_edge[k * 4 * kRow];
      }
    }
  }

 private:
  static constexpr int kChunk = chunk_elements(sizeof(Element));
  static constexpr int kChunks = slice_chunks(EDGE, BK, false, sizeof(Element));
  static constexpr int kExchanged = max_of(1, swizzle_width(kChunks) * kChunk / kBlock);
  static constexpr int kBlocks = WARP / kBlock;
  static constexpr int kPlaces =
      kBlocks % kExchanged == 0 || kExchanged % kBlocks == 0 ? 1 : min_of(kBlocks, kExchanged);

  int places_[kPlaces];
};

// Elements of f32 become the nearest of tf32: the instruction would cut them off.
template <int TYPE, int COUNT>
__device__ inline void round_blocks(MmaBlock (&blocks)[COUNT]) {
  if constexpr (TYPE == kTypeF32) {
#pragma unroll
    for (int i = 0; i < COUNT; ++i) {
#pragma unroll
      for (int j = 0; j < 4; ++j) blocks[i].x[j] = rounded_to_tf32(blocks[i].x[j]);
    }
  }
}

// Adds the product of a block of A and the `half`-th half of a block of B.
template <int TYPE, int MMA_K>
__device__ inline void multiply_blocks(float (&sums)[4], const MmaBlock& a, const MmaBlock& b,
                                       int half) {
  if constexpr (TYPE == kTypeF32) {
    mma_tf32(sums, a.x, b.x[2 * half], b.x[2 * half + 1]);
  } else if constexpr (MMA_K == 16) {
    mma_k16<TYPE>(sums, a.x, b.x[2 * half], b.x[2 * half + 1]);
  } else {
    mma_k8(sums, a.x[0], a.x[1], b.x[2 * half]);
    mma_k8(sums, a.x[2], a.x[3], b.x[2 * half + 1]);
  }
}

// The same of f16 with sums in f16.
template <int MMA_K>
__device__ inline void multiply_blocks_in_f16(unsigned (&sums)[2], const MmaBlock& a,
                                              const MmaBlock& b, int half) {
  if constexpr (MMA_K == 16) {
    mma_k16_f16(sums, a.x, b.x[2 * half], b.x[2 * half + 1]);
  } else {
    mma_k8_f16(sums, a.x[0], a.x[1], b.x[2 * half]);
    mma_k8_f16(sums, a.x[2], a.x[3], b.x[2 * half + 1]);
  }
}

}  // namespace gemm_tune
