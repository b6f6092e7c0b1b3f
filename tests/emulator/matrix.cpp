// SPDX-License-Identifier: Apache-2.0
#include "tests/emulator/matrix.h"

#include <sanitizer/asan_interface.h>
#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <new>
#include <system_error>

namespace gemm_tune::emulator {
namespace {

// Wide, so that an index that is off by rows of a tile still lands in marked memory.
constexpr std::size_t kRedZoneBytes = std::size_t{1} << 20;
constexpr std::size_t kPageBytes = 4096;
constexpr std::align_val_t kAlignment{32};

// Elements from the first to the last, padding between rows and matrices included.
std::size_t extent(const MatrixView& m) {
  if (m.rows == 0 || m.cols == 0) return 0;
  return static_cast<std::size_t>((m.batch - 1) * m.stride + (m.rows - 1) * m.ld + m.cols);
}

// Calls visit(first element of a row) for each row of each matrix.
template <class Visit>
void for_each_row(const MatrixView& m, Visit visit) {
  if (m.cols == 0) return;
  for (int b = 0; b < m.batch; ++b) {
    for (int row = 0; row < m.rows; ++row) visit(&m.entry(b).at(row, 0));
  }
}

}  // namespace

ExactMatrix::ExactMatrix(const MatrixView& shape, int alignment, unsigned padding_bits)
    : padding_bits_(padding_bits), view_(shape), is_element_(extent(shape)) {
  bytes_ = extent(view_) * sizeof(float) + 2 * kRedZoneBytes;
  memory_ = new (kAlignment) char[bytes_];
  // A red zone is a multiple of 32 bytes, so this is aligned to nothing wider than it should be.
  const std::size_t offset = kRedZoneBytes + static_cast<std::size_t>(alignment) * sizeof(float);
  view_.data = reinterpret_cast<float*>(memory_ + offset);
  for (std::size_t i = offset - 2 * sizeof(float);
       i < offset + extent(view_) * sizeof(float) + 2 * sizeof(float); i += sizeof(float)) {
    std::memcpy(memory_ + i, &padding_bits_, sizeof(float));
  }
  ASAN_POISON_MEMORY_REGION(memory_, bytes_);
  for_each_row(view_, [this](const float* first) {
    ASAN_UNPOISON_MEMORY_REGION(first, static_cast<std::size_t>(view_.cols) * sizeof(float));
    std::fill_n(is_element_.begin() + (first - view_.data), view_.cols, true);
  });
}

ExactMatrix::~ExactMatrix() {
  ASAN_UNPOISON_MEMORY_REGION(memory_, bytes_);
  operator delete[](memory_, kAlignment);
}

std::optional<std::string> ExactMatrix::find_overwritten_padding() {
  ASAN_UNPOISON_MEMORY_REGION(memory_, bytes_);
  const auto overwritten = [this](const float* element) {
    return std::memcmp(element, &padding_bits_, sizeof(float)) != 0;
  };
  for (int i = 1; i <= 2; ++i) {
    if (overwritten(view_.data - i)) return "an element ahead of the first";
    if (overwritten(view_.data + extent(view_) + i - 1)) return "an element after the last";
  }
  for (std::size_t i = 0; i < is_element_.size(); ++i) {
    if (is_element_[i] || !overwritten(view_.data + i)) continue;
    return "padding " + std::to_string(i) + " elements after the first";
  }
  return std::nullopt;
}

SparseMatrix::SparseMatrix(const MatrixView& shape) : view_(shape) {
  bytes_ = extent(view_) * sizeof(float) + kPageBytes;
  memory_ = mmap(nullptr, bytes_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory_ == MAP_FAILED) {
    throw std::system_error(errno, std::generic_category(), "mmap of a sparse matrix");
  }
  view_.data = static_cast<float*>(memory_);
  for_each_row(view_, [this](const float* row) {
    const auto first = reinterpret_cast<std::uintptr_t>(row) / kPageBytes;
    const auto last = reinterpret_cast<std::uintptr_t>(row + view_.cols - 1) / kPageBytes;
    if (mprotect(reinterpret_cast<void*>(first * kPageBytes), (last - first + 1) * kPageBytes,
                 PROT_READ | PROT_WRITE) != 0) {
      throw std::system_error(errno, std::generic_category(), "mprotect of a sparse matrix");
    }
  });
}

SparseMatrix::~SparseMatrix() { munmap(memory_, bytes_); }

}  // namespace gemm_tune::emulator
