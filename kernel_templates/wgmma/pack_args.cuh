// SPDX-License-Identifier: Apache-2.0
// The argument of the kernel that packs operands (pack.cuh), and how its work is dealt out. Read by
// NVRTC, the emulator and the host that launches.
#pragma once

namespace gemm_tune::wgmma {

// Lines are rows of A or columns of B, one along K after the other, those of a batch's matrices in
// turn.
struct PackedMatrix {
  const void* from;
  void* to;
  long long ld, stride;  // of `from`, in elements
  int lines;             // of a matrix
  int groups;            // of a matrix: CTAs side by side that pack its lines; 0: it is not packed
};

struct PackArgs {
  PackedMatrix a, b;
  int K;
  int chunks;  // of a packed line
  int ctas_a;  // along the grid's x, which come first: groups of all of A's matrices
};

constexpr int kPackThreads = 256;
constexpr int kChunkBytes = 16;  // a thread's access to packed lines, whose lengths are multiples
constexpr int kPackRounds = 4;   // chunks of a thread
constexpr int kSectorBytes = 32;

// Lines that a CTA packs: a warp reads along one of them, or neighbours of each stored row, as many
// as a sector has.
constexpr int lines_of_cta(bool along_k, int element_bytes) {
  return along_k ? kPackThreads / 32 : kSectorBytes / element_bytes;
}
// Chunks of each.
constexpr int chunks_of_cta(bool along_k, int element_bytes) {
  return kPackThreads / lines_of_cta(along_k, element_bytes) * kPackRounds;
}

}  // namespace gemm_tune::wgmma
