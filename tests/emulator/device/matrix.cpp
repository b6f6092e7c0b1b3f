// SPDX-License-Identifier: Apache-2.0
#include "tests/emulator/device/matrix.h"

#include <sanitizer/asan_interface.h>
#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <new>
#include <system_error>

#include "core/types/float16.h"
#include "core/types/float8.h"

namespace gemm_tune::emulator {
namespace {

// Wide, so that an index that is off by rows of a tile still lands in marked memory.
constexpr std::size_t kRedZoneBytes = std::size_t{1} << 20;
constexpr std::size_t kPageBytes = 4096;
constexpr std::align_val_t kAlignment{32};
constexpr std::ptrdiff_t kMarkedBytes = 8;  // of elements ahead of the first and after the last

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
    for (int row = 0; row < m.rows; ++row) visit(m.entry(b).address(row, 0));
  }
}

std::size_t bytes_of_element(const MatrixView& m) {
  return static_cast<std::size_t>(bytes_of(m.type));
}

std::size_t bytes_of_row(const MatrixView& m) {
  return static_cast<std::size_t>(m.cols) * bytes_of_element(m);
}

Float16Format format_of(ElementType type) { return type == ElementType::f16 ? kF16 : kBf16; }

}  // namespace

float MatrixView::get(int row, int col) const {
  const char* const from = address(row, col);
  if (type == ElementType::f32) {
    float value = 0;
    std::memcpy(&value, from, sizeof(value));
    return value;
  }
  if (type == ElementType::e4m3) return e4m3_to_float(static_cast<std::uint8_t>(*from));
  std::uint16_t bits = 0;
  std::memcpy(&bits, from, sizeof(bits));
  return to_float(format_of(type), bits);
}

void MatrixView::set(int row, int col, float value) const {
  char* const to = address(row, col);
  if (type == ElementType::f32) {
    std::memcpy(to, &value, sizeof(value));
    return;
  }
  if (type == ElementType::e4m3) {
    *to = static_cast<char>(e4m3_from_float(value));
    return;
  }
  const std::uint16_t bits = from_float(format_of(type), value);
  std::memcpy(to, &bits, sizeof(bits));
}

ExactMatrix::ExactMatrix(const MatrixView& shape, int alignment, unsigned padding_bits)
    : view_(shape), is_element_(extent(shape)) {
  const std::size_t size = bytes_of_element(view_);
  if (size < sizeof(padding_bits)) padding_bits >>= 8 * (sizeof(padding_bits) - size);
  std::memcpy(padding_, &padding_bits, sizeof(padding_bits));
  bytes_ = extent(view_) * size + 2 * kRedZoneBytes;
  memory_ = new (kAlignment) char[bytes_];
  // A red zone is a multiple of 32 bytes, so this is aligned to nothing wider than it should be.
  const std::size_t aligned = std::min<std::size_t>(static_cast<std::size_t>(alignment) * size, 16);
  view_.data = memory_ + kRedZoneBytes + aligned;
  const char* const end = view_.data + extent(view_) * size + kMarkedBytes;
  for (char* at = view_.data - kMarkedBytes; at < end; at += size) std::memcpy(at, padding_, size);
  ASAN_POISON_MEMORY_REGION(memory_, bytes_);
  for_each_row(view_, [&](const char* first) {
    ASAN_UNPOISON_MEMORY_REGION(first, bytes_of_row(view_));
    const auto index = (first - view_.data) / static_cast<std::ptrdiff_t>(size);
    std::fill_n(is_element_.begin() + index, view_.cols, true);
  });
}

ExactMatrix::~ExactMatrix() {
  ASAN_UNPOISON_MEMORY_REGION(memory_, bytes_);
  operator delete[](memory_, kAlignment);
}

std::optional<std::string> ExactMatrix::find_overwritten_padding() {
  ASAN_UNPOISON_MEMORY_REGION(memory_, bytes_);
  const auto size = static_cast<std::ptrdiff_t>(bytes_of_element(view_));
  const auto overwritten = [&](std::ptrdiff_t element) {
    return std::memcmp(view_.data + element * size, padding_, bytes_of_element(view_)) != 0;
  };
  const auto elements = static_cast<std::ptrdiff_t>(extent(view_));
  for (std::ptrdiff_t i = 1; i <= kMarkedBytes / size; ++i) {
    if (overwritten(-i)) return "an element ahead of the first";
    if (overwritten(elements + i - 1)) return "an element after the last";
  }
  for (std::ptrdiff_t i = 0; i < elements; ++i) {
    if (is_element_[static_cast<std::size_t>(i)] || !overwritten(i)) continue;
    return "padding " + std::to_string(i) + " elements after the first";
  }
  return std::nullopt;
}

SparseMatrix::SparseMatrix(const MatrixView& shape) : view_(shape) {
  bytes_ = extent(view_) * bytes_of_element(view_) + kPageBytes;
  memory_ = mmap(nullptr, bytes_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory_ == MAP_FAILED) {
    throw std::system_error(errno, std::generic_category(), "mmap of a sparse matrix");
  }
  view_.data = static_cast<char*>(memory_);
  for_each_row(view_, [this](const char* row) {
    const auto first = reinterpret_cast<std::uintptr_t>(row) / kPageBytes;
    const auto last = reinterpret_cast<std::uintptr_t>(row + bytes_of_row(view_) - 1) / kPageBytes;
    if (mprotect(reinterpret_cast<void*>(first * kPageBytes), (last - first + 1) * kPageBytes,
                 PROT_READ | PROT_WRITE) != 0) {
      throw std::system_error(errno, std::generic_category(), "mprotect of a sparse matrix");
    }
  });
}

SparseMatrix::~SparseMatrix() { munmap(memory_, bytes_); }

}  // namespace gemm_tune::emulator
