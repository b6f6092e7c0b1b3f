#include "tests/emulator/matrix.h"

#include <sanitizer/asan_interface.h>
#include <sys/mman.h>

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

// Elements from the first to the last, padding between rows included.
std::size_t extent(const MatrixView& m) {
  if (m.rows == 0 || m.cols == 0) return 0;
  return static_cast<std::size_t>((m.rows - 1) * m.ld + m.cols);
}

}  // namespace

ExactMatrix::ExactMatrix(int rows, int cols, long long ld, int alignment, unsigned padding_bits)
    : padding_bits_(padding_bits), view_{nullptr, rows, cols, ld} {
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
  for (int row = 0; row < rows && cols > 0; ++row) {
    ASAN_UNPOISON_MEMORY_REGION(&view_.at(row, 0), static_cast<std::size_t>(cols) * sizeof(float));
  }
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
  for (int row = 0; row + 1 < view_.rows; ++row) {
    for (long long col = view_.cols; col < view_.ld; ++col) {
      if (overwritten(view_.data + row * view_.ld + col)) {
        return "padding at row " + std::to_string(row) + ", column " + std::to_string(col);
      }
    }
  }
  return std::nullopt;
}

SparseMatrix::SparseMatrix(int rows, int cols, long long ld) : view_{nullptr, rows, cols, ld} {
  bytes_ = extent(view_) * sizeof(float) + kPageBytes;
  memory_ = mmap(nullptr, bytes_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory_ == MAP_FAILED) {
    throw std::system_error(errno, std::generic_category(), "mmap of a sparse matrix");
  }
  view_.data = static_cast<float*>(memory_);
  for (int row = 0; row < rows; ++row) {
    const auto first = reinterpret_cast<std::uintptr_t>(&view_.at(row, 0)) / kPageBytes;
    const auto last = reinterpret_cast<std::uintptr_t>(&view_.at(row, cols - 1)) / kPageBytes;
    if (mprotect(reinterpret_cast<void*>(first * kPageBytes), (last - first + 1) * kPageBytes,
                 PROT_READ | PROT_WRITE) != 0) {
      throw std::system_error(errno, std::generic_category(), "mprotect of a sparse matrix");
    }
  }
}

SparseMatrix::~SparseMatrix() { munmap(memory_, bytes_); }

}  // namespace gemm_tune::emulator
