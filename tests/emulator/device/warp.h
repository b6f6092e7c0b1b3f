// SPDX-License-Identifier: Apache-2.0
// What the 32 lanes of a warp do together: shuffles, matrix loads and matrix products.
//
// A lane leaves its part of the work and waits; once all lanes have come to the same place, the
// emulator has the work done and lets them go on. Use from one thread.
#pragma once

#include <array>
#include <cstdint>

#include "tests/emulator/device/tensor_core.h"

namespace gemm_tune::emulator {

// One lane's part.
struct WarpWork {
  enum class Kind { shuffle, load_matrices, store_matrices, multiply_add };
  Kind kind = Kind::shuffle;

  float offer = 0;     // shuffle: what the lane has
  int lane_mask = 0;   // and who has what it wants
  float received = 0;  // what it takes away

  int matrices = 0;                     // load_matrices, store_matrices: 1, 2 or 4
  bool transposed = false;              //
  std::array<std::uint16_t, 8> row{};   // of matrix lane / 8, where there is one
  std::array<unsigned, 4> fragments{};  // what the lane takes away or brings, one of each matrix

  MmaOperands operands;   // multiply_add
  float* sums = nullptr;  // the lane's four, read and written
};

// The row that a lane loads of a matrix: 8 numbers of 16 bits. Throws ExecutionError, without the
// name of the thread, where the address is not aligned to 16 bytes. Read when the lane comes and
// not when all have: what another lane stores later without a warp barrier is not seen.
std::array<std::uint16_t, 8> load_matrix_row(const void* address);

// Does the work of all lanes. Throws ExecutionError, without the name of a thread, where the lanes
// do not agree on it.
void work_together(const TensorCore& core, const std::array<WarpWork*, kWarp>& lanes);

}  // namespace gemm_tune::emulator
