// SPDX-License-Identifier: Apache-2.0
// How slices of 16-bit operands lie in shared memory: as in global memory, row by row, in chunks of
// 16 bytes that are exchanged within a row so that ldmatrix meets no bank twice.
//
// Plain constexpr functions without any CUDA, so that the host can count conflicts with the very
// mapping that the kernel uses.
#pragma once

namespace gemm_tune {

constexpr int kChunk = 8;   // elements: 16 bytes, a row of ldmatrix's matrices
constexpr int kBlock = 16;  // elements of either edge of the blocks that warps load

// Rows and chunks per row of a slice of EDGE x BK elements; along_k: k runs along the stored rows.
constexpr int slice_rows(int edge, int bk, bool along_k) { return along_k ? edge : bk; }
constexpr int slice_chunks(int edge, int bk, bool along_k) {
  return (along_k ? bk : edge) / kChunk;
}

// Neighbouring chunks among which a row's chunks are exchanged: a power of two, at most the 8 that
// are as wide as all banks.
constexpr int swizzle_width(int chunks) {
  const int power = chunks & -chunks;
  return power < 8 ? power : 8;
}

// The element with which a chunk begins in shared memory. Rows whose chunks would lie in the same
// banks, one in every 8 / width, have their chunks exchanged differently.
constexpr int chunk_offset(int row, int chunk, int chunks) {
  const int width = swizzle_width(chunks);
  return (row * chunks + (chunk ^ (row / (8 / width) % width))) * kChunk;
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
