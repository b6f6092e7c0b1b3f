// SPDX-License-Identifier: Apache-2.0
// The widths of the accesses of a config whose operands are aligned differently. Plain constexpr
// data without any CUDA: host and kernel read the same.
#pragma once

namespace gemm_tune {

// Elements per access of A, of B, and of C and D.
struct VectorWidths {
  int a, b, cd;
};

// vecs: these as the digits of a number, as in 421.
constexpr VectorWidths vector_widths(int vecs) { return {vecs / 100, vecs / 10 % 10, vecs % 10}; }

}  // namespace gemm_tune
