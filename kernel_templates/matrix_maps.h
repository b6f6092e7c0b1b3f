// SPDX-License-Identifier: Apache-2.0
// Tensor maps of matrices as a call stores them, or as a launch before copies them: of A, B or D of
// a kernel that lets the copy engine load or store. Pure; any thread.
#pragma once

#include <cstdint>

#include "core/launch/launch_plan.h"

namespace gemm_tune {

// Boxes of a batch of matrices, each of which lies in one matrix.
struct MatrixBoxes {
  int element_bytes;
  std::int64_t row_length, rows, batch;
  int box_length, box_rows;
  int swizzled_bytes;  // 128, 64 or 32; else nothing is swizzled
};

// Without distances.
TensorMapSlot matrices_map(CallValue address, const MatrixBoxes& boxes);

// Distances that a call brings. bytes: of an element.
void set_distances(TensorMapSlot& slot, CallValue ld, CallValue stride, int bytes);

}  // namespace gemm_tune
