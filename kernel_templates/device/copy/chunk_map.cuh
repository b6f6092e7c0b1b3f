// SPDX-License-Identifier: Apache-2.0
// How slices of operands lie in shared memory: as in global memory, row by row, in chunks of 16
// bytes that are exchanged within a row so that the loads of a warp's operands meet no bank twice.
//
// Plain constexpr functions without any CUDA, so that the host can count conflicts with the very
// mapping that the kernel uses.
#pragma once

#include "kernel_templates/rules.h"

namespace gemm_tune {

// Elements of a chunk, which is a row of ldmatrix's matrices.
constexpr int chunk_elements(int element_bytes) { return 16 / element_bytes; }

// Of the blocks that warps load: elements along M or N, and along K.
constexpr int kBlock = 16;
constexpr int block_depth(int element_bytes) { return 2 * chunk_elements(element_bytes); }

// ldmatrix reads a chunk of each of eight rows at once. It takes pairs of 16-bit elements where k
// runs across the stored rows; elements of 32 bits are loaded one by one there, of four rows and
// two neighbouring chunks at once.
enum class ChunkReads { eight_rows, four_rows };
constexpr ChunkReads chunk_reads(int element_bytes, bool along_k) {
  return element_bytes == 4 && !along_k ? ChunkReads::four_rows : ChunkReads::eight_rows;
}

// Rows and chunks per row of a slice of EDGE x BK elements; along_k: k runs along the stored rows.
constexpr int slice_rows(int edge, int bk, bool along_k) { return along_k ? edge : bk; }
constexpr int slice_chunks(int edge, int bk, bool along_k, int element_bytes) {
  return (along_k ? bk : edge) / chunk_elements(element_bytes);
}

// Neighbouring chunks among which a row's chunks are exchanged: a power of two, at most the 8 that
// are as wide as all banks.
constexpr int swizzle_width(int chunks) {
  const int power = chunks & -chunks;
  return power < 8 ? power : 8;
}

// Where a chunk lies in shared memory, in chunks. Rows whose chunks would lie in the same banks,
// one in every 8 / width, have their chunks exchanged differently; pairs of them where four rows
// are read at once.
template <ChunkReads READS = ChunkReads::eight_rows>
constexpr int chunk_offset(int row, int chunk, int chunks) {
  constexpr int kTogether = READS == ChunkReads::four_rows ? 2 : 1;
  const int width = swizzle_width(chunks);
  return row * chunks + (chunk ^ (row / (8 / width) % max_of(1, width / kTogether) * kTogether));
}

// A chunk's place in a slice.
struct ChunkPlace {
  int row, chunk;
};

// The chunk that a thread copies in a pass; one at or past the slice's last row is none. Where
// whole rows are dealt out at once, passes differ in the row only.
constexpr ChunkPlace chunk_place(int thread, int pass, int threads, int chunks) {
  if (threads % chunks == 0) return {thread / chunks + pass * (threads / chunks), thread % chunks};
  const int index = pass * threads + thread;
  return {index / chunks, index % chunks};
}

constexpr int chunk_passes(int rows, int chunks, int threads) {
  return (rows * chunks - 1) / threads + 1;
}

}  // namespace gemm_tune
