// SPDX-License-Identifier: Apache-2.0
// How the slices of an operand are dealt out to the threads that copy them into shared memory,
// where k always runs from row to row.
//
// Plain constexpr functions without any CUDA: the host counts bank conflicts and rejects configs
// with the very mapping that the kernel uses.
#pragma once

namespace gemm_tune {

// Floats between two rows of a slice beyond its edge, where it is transposed on its way. With it
// the 32 lanes of slice_place() store into 32 different banks: 4 k + edge is one to one on a patch.
constexpr int kTransposePad = 4;

// K elements of the patch that a warp copies at once where k runs along the stored rows: 32 bytes,
// the unit of traffic between L2 and L1.
constexpr int kPatchK = 8;

struct SlicePlace {
  int edge, k;  // of the first element of a vector of vec
};

// Vectors (one per thread) that lie side by side before k moves on: along the edge, or patches of
// 4 vec x kPatchK elements, each a warp's.
constexpr int units_per_line(int edge, int vec, bool along_k) {
  return along_k ? edge / (4 * vec) : edge / vec;
}
constexpr int units_per_pass(int threads, bool along_k) { return along_k ? threads / 32 : threads; }

// Whether each pass of all threads is the first one moved by a constant. Of the last one, threads
// whose k lies past the slice have no part.
constexpr bool is_dealt_evenly(int edge, int bk, int threads, int vec, bool along_k) {
  const int unit = along_k ? 4 * vec : vec;
  if (edge % unit != 0 || (along_k && bk % kPatchK != 0)) return false;
  const int line = units_per_line(edge, vec, along_k), pass = units_per_pass(threads, along_k);
  return line % pass == 0 || pass % line == 0;
}

constexpr int copy_passes(int edge, int bk, int threads, int vec) {
  return (edge * bk - 1) / (threads * vec) + 1;
}

// Whether the last pass has a part for every thread.
constexpr bool is_last_pass_full(int edge, int bk, int threads, int vec) {
  return edge * bk % (threads * vec) == 0;
}

// The place of a thread's vector in the first pass.
constexpr SlicePlace slice_place(int edge, int thread, int vec, bool along_k) {
  if (!along_k) return {thread % (edge / vec) * vec, thread / (edge / vec)};
  const int line = units_per_line(edge, vec, along_k);
  const int warp = thread / 32, lane = thread % 32;
  const int lanes_k = kPatchK / vec;
  return {warp % line * 4 * vec + lane / lanes_k, warp / line * kPatchK + lane % lanes_k * vec};
}

// By how much a later pass moves it. Precondition: is_dealt_evenly().
constexpr SlicePlace pass_offset(int edge, int threads, int vec, bool along_k, int pass) {
  const int line = units_per_line(edge, vec, along_k), at_once = units_per_pass(threads, along_k);
  const int unit_edge = along_k ? 4 * vec : vec, unit_k = along_k ? kPatchK : 1;
  const int unit = pass * at_once;
  return {unit % line * unit_edge, unit / line * unit_k};
}

}  // namespace gemm_tune
