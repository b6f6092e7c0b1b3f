// SPDX-License-Identifier: Apache-2.0
// The argument of the pre-pass kernel (device/copy/repack.cuh) and how its copies are dealt out to
// threads. Read by NVRTC, the emulator and the host that launches.
#pragma once

namespace gemm_tune {

struct RepackedMatrix {
  const void* from;
  void* to;
  long long from_rows, from_length, from_ld;  // rows of from_length elements
  long long to_rows, to_ld;  // no copy where to_rows is 0; to_ld: a multiple of 16 bytes
};

struct RepackArgs {
  RepackedMatrix a, b;
  int element_bytes;  // 2 or 4
};

inline constexpr int kRepackThreads = 256;
inline constexpr int kRepackChunkBytes = 16;

// Chunks of a copy, a thread each.
constexpr long long repack_chunks(const RepackedMatrix& matrix, int element_bytes) {
  return matrix.to_rows * (matrix.to_ld * element_bytes / kRepackChunkBytes);
}

}  // namespace gemm_tune
