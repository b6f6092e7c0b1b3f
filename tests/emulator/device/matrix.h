// SPDX-License-Identifier: Apache-2.0
// Row-major matrices whose surroundings are out of reach: where an emulated kernel's operands live.
//
// Of any element type that a kernel knows. A kernel that touches an element outside a matrix dies
// there. Not for use outside these tests: both classes spend address space freely. Use from one
// thread.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "core/types/signature.h"

namespace gemm_tune::emulator {

// A batch of matrices of rows * cols elements: row r of the b-th starts at data + b * stride +
// r * ld.
struct MatrixView {
  char* data = nullptr;
  int rows = 0, cols = 0;
  long long ld = 0;
  int batch = 1;
  long long stride = 0;
  ElementType type = ElementType::f32;

  char* address(int row, int col) const { return data + (row * ld + col) * bytes_of(type); }
  float get(int row, int col) const;
  void set(int row, int col, float value) const;  // rounded to nearest

  MatrixView entry(int b) const {
    return {data + b * stride * bytes_of(type), rows, cols, ld, 1, 0, type};
  }
};

// Ends exactly with its last matrix's last element; ahead of it, after it, between rows and between
// matrices lies memory that AddressSanitizer reports. The first element is aligned to `alignment`
// elements, 16 bytes at most, and no more. Elements that AddressSanitizer cannot mark (it counts in
// 8 bytes) hold a given pattern of 4 bytes, those of 2 bytes or 1 its upper part, and so do all
// elements at first.
class ExactMatrix {
 public:
  // shape.data is not read.
  ExactMatrix(const MatrixView& shape, int alignment, unsigned padding_bits);
  ~ExactMatrix();
  ExactMatrix(const ExactMatrix&) = delete;
  ExactMatrix& operator=(const ExactMatrix&) = delete;

  const MatrixView& view() const { return view_; }

  // Where the padding was overwritten, as a phrase; nothing if it was not. Once, as the last call:
  // it takes the marks away.
  std::optional<std::string> find_overwritten_padding();

 private:
  char* memory_ = nullptr;
  std::size_t bytes_ = 0;
  char padding_[4];  // an element's
  MatrixView view_;
  std::vector<bool> is_element_;  // from the first element to the last
};

// For leading dimensions and strides that no memory could hold: only the pages that rows lie on are
// accessible.
class SparseMatrix {
 public:
  // shape.data is not read.
  explicit SparseMatrix(const MatrixView& shape);
  ~SparseMatrix();
  SparseMatrix(const SparseMatrix&) = delete;
  SparseMatrix& operator=(const SparseMatrix&) = delete;

  const MatrixView& view() const { return view_; }

 private:
  void* memory_ = nullptr;
  std::size_t bytes_ = 0;
  MatrixView view_;
};

}  // namespace gemm_tune::emulator
